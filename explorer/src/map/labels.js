// Names of the classes on the map, at their medians; those that would overlap larger ones wait until
// the map is zoomed.

import { byId, create } from "../dom.js";

const MOST = 150;
const SAMPLE = 2000;
const MARGIN = 3;

const middle = (values) => {
  values.sort();
  return values[values.length >> 1];
};

export const createLabels = (chart) => {
  const holder = byId("labels");
  let labels = [];

  const place = () => {
    const [width, height] = [holder.clientWidth, holder.clientHeight];
    const taken = [];
    for (const label of labels) {
      const [x, y] = chart.project(label.x, label.y);
      const [w, h] = [label.width / 2 + MARGIN, label.height / 2 + MARGIN];
      const box = [x - w, y - h, x + w, y + h];
      const outside = box[2] < 0 || box[3] < 0 || box[0] > width || box[1] > height;
      const free = taken.every((o) => box[2] < o[0] || box[0] > o[2] || box[3] < o[1] || box[1] > o[3]);
      const visible = !outside && free;
      if (visible) taken.push(box);
      label.element.style.visibility = visible ? "visible" : "hidden";
      if (visible) label.element.style.transform = `translate(${x}px, ${y}px) translate(-50%, -50%)`;
    }
  };

  // Medians of the points that are shown, of at most SAMPLE points a class.
  const medians = (column) => {
    const strides = column.counts.map((count) => Math.max(1, Math.ceil(count / SAMPLE)));
    const places = column.texts.map(() => [[], []]);
    const seen = new Uint32Array(column.texts.length);
    column.codes.forEach((code, k) => {
      if (!chart.isShown(k) || seen[code]++ % strides[code]) return;
      places[code][0].push(chart.x[k]);
      places[code][1].push(chart.y[k]);
    });
    return places.map(([xs, ys]) => xs.length && [middle(Float32Array.from(xs)), middle(Float32Array.from(ys))]);
  };

  return {
    render(column) {
      labels = [];
      holder.replaceChildren();
      if (!column?.codes) return;
      // medians of a class for each item, as of identifiers, would name single points
      if (column.texts.length > column.codes.length / 2 && column.texts.length > 50) return;
      const at = medians(column);
      const order = column.texts.map((_, code) => code).filter((code) => code !== column.missing && at[code]);
      order.sort((a, b) => column.counts[b] - column.counts[a]);
      for (const code of order.slice(0, MOST)) {
        const element = create("span", { textContent: column.texts[code].slice(0, 60) });
        holder.append(element);
        labels.push({ element, x: at[code][0], y: at[code][1] });
      }
      for (const label of labels) {
        label.width = label.element.offsetWidth;
        label.height = label.element.offsetHeight;
      }
      place();
    },
    place,
  };
};
