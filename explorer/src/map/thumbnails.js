// Images of the items in view, above their points, once the map is zoomed in so far that few items
// are left. Those that would overlap others wait until the map is zoomed further.

import { byId, create, later } from "../dom.js";

const MOST = 80; // items in view
const SIDE = 44; // pixels of the longer side
const ABOVE = 7; // pixels from the point
const MARGIN = 2;
const PAUSE = 120; // milliseconds without a move, after which the items in view are looked up

export const createThumbnails = (chart, images) => {
  if (!images.has) return { place: () => {}, render: () => {} };
  const holder = byId("thumbnails");
  const scale = SIDE / Math.max(images.width, images.height);
  const [width, height] = [images.width * scale, images.height * scale];
  let thumbnails = new Map(); // canvas of each item in view

  const place = () => {
    const taken = [];
    for (const [item, canvas] of thumbnails) {
      const [x, y] = chart.project(chart.x[item], chart.y[item]);
      const [left, top] = [x - width / 2, y - ABOVE - height];
      const free = taken.every(
        ([a, b]) => Math.abs(left - a) > width + MARGIN || Math.abs(top - b) > height + MARGIN,
      );
      if (free) taken.push([left, top]);
      canvas.style.visibility = free ? "visible" : "hidden";
      canvas.style.transform = `translate(${left}px, ${top}px)`;
    }
  };

  const draw = (item) => {
    const canvas = create("canvas");
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    canvas.style.imageRendering = scale < 1 ? "auto" : "pixelated";
    return images.draw(item, canvas);
  };

  const render = () => {
    const items = chart.inView();
    const before = thumbnails;
    thumbnails = new Map(
      items.length > MOST ? [] : items.map((item) => [item, before.get(item) ?? draw(item)]),
    );
    holder.replaceChildren(...thumbnails.values());
    place();
  };

  // The sheets of images come behind the script, so early thumbnails may still be empty.
  if (document.readyState !== "complete") {
    window.addEventListener("load", () => {
      thumbnails = new Map();
      render();
    });
  }
  return { place, render: later(PAUSE, render) };
};
