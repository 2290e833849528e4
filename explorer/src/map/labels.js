// Names of the classes on the map, each in the middle of its largest part; those that would overlap
// larger ones wait until the map is zoomed.

import { byId, create } from "../dom.js";

const MOST = 150;
const SAMPLE = 1000;
const MARGIN = 3;
// Names of more classes than these are smaller, and farther from each other.
const CROWD = 30;
const CROWD_MARGIN = 14;

const CELLS = 16; // of a class's box, each way

const middle = (values) => Float32Array.from(values).sort()[values.length >> 1];

// The points of the largest part of a class: cells of a grid that touch each other.
const largestIsland = (xs, ys) => {
  const cellOf = (values) => {
    const [low, high] = values.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
    return values.map((v) => (high > low ? Math.min(CELLS - 1, Math.floor(((v - low) / (high - low)) * CELLS)) : 0));
  };
  const [columns, rows] = [cellOf(xs), cellOf(ys)];
  const cells = new Map();
  columns.forEach((column, k) => {
    const cell = rows[k] * CELLS + column;
    if (!cells.has(cell)) cells.set(cell, []);
    cells.get(cell).push(k);
  });
  let best = [];
  while (cells.size > 0) {
    const island = [];
    const waiting = [cells.keys().next().value];
    while (waiting.length > 0) {
      const cell = waiting.pop();
      if (!cells.has(cell)) continue;
      island.push(...cells.get(cell));
      cells.delete(cell);
      for (const up of [-1, 0, 1]) {
        for (const across of [-1, 0, 1]) {
          const column = (cell % CELLS) + across;
          if (column >= 0 && column < CELLS) waiting.push(cell + up * CELLS + across);
        }
      }
    }
    if (island.length > best.length) best = island;
  }
  return best;
};

export const createLabels = (chart) => {
  const holder = byId("labels");
  let labels = [];
  let margin = MARGIN;

  const place = () => {
    const [width, height] = [holder.clientWidth, holder.clientHeight];
    const taken = [];
    for (const label of labels) {
      const [x, y] = chart.project(label.x, label.y);
      const [w, h] = [label.width / 2 + margin, label.height / 2 + margin];
      const box = [x - w, y - h, x + w, y + h];
      const outside = box[2] < 0 || box[3] < 0 || box[0] > width || box[1] > height;
      const free = taken.every((o) => box[2] < o[0] || box[0] > o[2] || box[3] < o[1] || box[1] > o[3]);
      const visible = !outside && free;
      if (visible) taken.push(box);
      label.element.style.visibility = visible ? "visible" : "hidden";
      if (visible) label.element.style.transform = `translate(${x}px, ${y}px) translate(-50%, -50%)`;
    }
  };

  // Where each class's name goes, from at most SAMPLE of its points that are shown.
  const places = (column) => {
    const strides = column.counts.map((count) => Math.max(1, Math.ceil(count / SAMPLE)));
    const samples = column.texts.map(() => [[], []]);
    const seen = new Uint32Array(column.texts.length);
    column.codes.forEach((code, k) => {
      if (!chart.isShown(k) || seen[code]++ % strides[code]) return;
      samples[code][0].push(chart.x[k]);
      samples[code][1].push(chart.y[k]);
    });
    return samples.map(([xs, ys]) => {
      const island = largestIsland(xs, ys);
      return xs.length > 0 && [middle(island.map((k) => xs[k])), middle(island.map((k) => ys[k]))];
    });
  };

  return {
    render(column) {
      labels = [];
      holder.replaceChildren();
      if (!column?.codes) return;
      // medians of a class for each item, as of identifiers, would name single points
      if (column.texts.length > column.codes.length / 2 && column.texts.length > 50) return;
      const isCrowd = column.texts.length > CROWD;
      margin = isCrowd ? CROWD_MARGIN : MARGIN;
      holder.classList.toggle("crowd", isCrowd);
      const at = places(column);
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
