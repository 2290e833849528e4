// The only file that knows regl-scatterplot: coordinates, camera, selection and events of the map.

import createScatterplot, { createRegl, createRenderer } from "regl-scatterplot";

import { createMotion } from "./motion.js";

const FIT_PADDING = 0.1;
const SMALLEST_VIEW = 0.1; // of the map, which has the length 2, so that single items keep company
const TOOLS = 48; // pixels at the top of the map
// Of the points, at each side, those that the first view may leave out.
const FAR = 0.005;
const MOST_SORTED = 50000;
const LONGEST_CLICK = 4; // pixels

// 8 pixels for a few items, 5 for a thousand, 2.5 for MNIST, 1 for a million
const pointSize = (n) => Math.max(1, Math.min(8, 11 - 1.75 * Math.log10(n)));

// A drag that ends where it began, as a lasso does, is no click: the engine would select the item
// there in place of those in the lasso.
const suppressClicksOfDrags = (canvas) => {
  let from = [0, 0];
  let dragged = false;
  const distance = (event) => Math.hypot(event.clientX - from[0], event.clientY - from[1]);
  canvas.addEventListener("mousedown", (event) => {
    from = [event.clientX, event.clientY];
    dragged = false;
  });
  canvas.addEventListener("mousemove", (event) => {
    if (event.buttons && distance(event) > LONGEST_CLICK) dragged = true;
  });
  canvas.addEventListener("click", (event) => dragged && event.stopImmediatePropagation(), true);
};

// The engine adds up colours as floats, which graphics chips of some phones cannot draw: bytes then
// do nearly as well. By default it would draw as many pixels as the window has.
const rendererFor = (canvas) => {
  // Asked for first, so that the engine gets this context. Points have smooth edges of their own:
  // samples of pixels would change nothing but the time that it takes.
  canvas.getContext("webgl", { antialias: false, preserveDrawingBuffer: true });
  const regl = createRegl(canvas);
  if (!regl.hasExtension("EXT_float_blend") || !regl.hasExtension("WEBGL_color_buffer_float")) {
    const { framebuffer } = regl;
    regl.framebuffer = (options) => framebuffer({ ...options, colorType: "uint8" });
  }
  return createRenderer({ regl, canvas });
};

export const createChart = (canvas, picture, x, y) => {
  const n = x.length;
  const renderer = rendererFor(picture);
  let plot = null;
  const motion = createMotion(renderer, canvas, {
    camera: () => plot.get("camera"),
    redraw: () => plot?.redraw(),
  });
  motion.resize();
  new ResizeObserver(motion.resize).observe(canvas);
  plot = createScatterplot({
    renderer,
    canvas,
    pointSize: pointSize(n),
    pointSizeSelected: 1,
    pointOutlineWidth: 0,
    opacity: n > 200000 ? 0.35 : n > 20000 ? 0.7 : 0.85,
    opacityInactiveScale: 0.25,
    lassoMinDist: 3,
    // pressing Escape is for the page to handle
    deselectOnEscape: false,
    deselectOnDblClick: false,
    actionKeyMap: { lasso: "shift", merge: "ctrl", remove: "alt" },
    // a worker would have to copy one array a point
    spatialIndexUseWorker: false,
  });
  suppressClicksOfDrags(canvas);
  for (const event of ["select", "deselect"]) plot.subscribe(event, motion.forget);
  for (const event of ["pointover", "pointout"]) plot.subscribe(event, motion.hover);
  let shown = null; // null: all
  let coordinates = { x, y };
  let spatialIndex;

  const camera = () => plot.get("camera");
  const size = () => [canvas.clientWidth, canvas.clientHeight];

  const chart = {
    plot,
    motion,
    on: (event, handler) => plot.subscribe(event, handler),

    // `codes`: the index into `colors` of each point.
    async paint(codes, colors) {
      plot.set({ colorBy: "valueA", pointColor: colors });
      await motion.during(
        plot.draw(
          { ...coordinates, valueA: codes },
          { zDataType: "categorical", preventFilterReset: true, spatialIndex },
        ),
      );
      spatialIndex = plot.get("spatialIndex");
    },
    recolor(colors) {
      motion.forget();
      plot.set({ pointColor: colors });
    },
    move(newX, newY) {
      coordinates = { x: newX, y: newY };
      spatialIndex = undefined;
    },
    get x() {
      return coordinates.x;
    },
    get y() {
      return coordinates.y;
    },

    // Screen position, in pixels of the canvas, of a place on the map; and back.
    project(px, py) {
      const [width, height] = size();
      const view = camera().view;
      const u = (view[0] * px + view[4] * py + view[12]) * (height / width);
      const v = view[1] * px + view[5] * py + view[13];
      return [(width * (u + 1)) / 2, (height * (1 - v)) / 2];
    },
    unproject(sx, sy) {
      const [width, height] = size();
      const view = camera().view;
      const u = (((2 * sx) / width - 1) * width) / height;
      const v = 1 - (2 * sy) / height;
      return [(u - view[12]) / view[0], (v - view[13]) / view[5]];
    },

    pan(dx, dy) {
      const height = size()[1];
      camera().pan([(2 * dx) / height, (-2 * dy) / height]);
      plot.redraw();
    },
    zoom(factor, sx = size()[0] / 2, sy = size()[1] / 2) {
      const [width, height] = size();
      camera().scale([factor, factor], [(2 * sx - width) / height, 1 - (2 * sy) / height]);
      plot.redraw();
    },
    // Lines between items.
    link(lines) {
      return motion.during(plot.drawAnnotations(lines));
    },
    // Show a rectangle of the map, below the tools.
    fit([left, bottom, right, top], transition = false) {
      const pad = (length) => Math.max(length * FIT_PADDING, SMALLEST_VIEW - length);
      const [width, height] = [right - left, top - bottom].map((length) => length + pad(length));
      const all = size()[1];
      const above = (height * TOOLS) / Math.max(all - TOOLS, TOOLS);
      return plot.zoomToArea(
        { x: (left + right - width) / 2, y: (bottom + top - height) / 2, width, height: height + above },
        { transition, transitionDuration: 250 },
      );
    },
    boxOf(items) {
      const box = [Infinity, Infinity, -Infinity, -Infinity];
      for (const k of items) {
        box[0] = Math.min(box[0], coordinates.x[k]);
        box[1] = Math.min(box[1], coordinates.y[k]);
        box[2] = Math.max(box[2], coordinates.x[k]);
        box[3] = Math.max(box[3], coordinates.y[k]);
      }
      return box;
    },
    // The box of all points, unless a half of it or more holds hardly any.
    mainBox() {
      const all = chart.boxOf(coordinates.x.keys());
      const [across, up] = [coordinates.x, coordinates.y].map((values) => {
        const sorted = values.filter((_, k) => k % Math.ceil(n / MOST_SORTED) === 0).sort();
        const at = (share) => sorted[Math.round(share * (sorted.length - 1))];
        const [a, b] = [at(FAR), at(1 - FAR)];
        return [a - (b - a) / 4, b + (b - a) / 4];
      });
      const main = [across[0], up[0], across[1], up[1]];
      const width = (box) => Math.max(box[2] - box[0], box[3] - box[1]);
      if (n < 100 || width(all) < 2 * width(main)) return all;
      return main.map((edge, k) => (k < 2 ? Math.max(edge, all[k]) : Math.min(edge, all[k])));
    },
    inView() {
      const [left, top] = chart.unproject(0, 0);
      const [right, bottom] = chart.unproject(...size());
      const found = [];
      for (let k = 0; k < n; k++) {
        const inside =
          coordinates.x[k] >= left && coordinates.x[k] <= right &&
          coordinates.y[k] >= bottom && coordinates.y[k] <= top;
        if (inside && chart.isShown(k)) found.push(k);
      }
      return found;
    },

    // `mask`: 1 for each point that is shown; null for all.
    show(mask) {
      shown = mask;
      motion.forget();
      if (!mask) return plot.get("isPointsFiltered") ? plot.unfilter() : undefined;
      const items = [];
      for (let k = 0; k < n; k++) if (mask[k]) items.push(k);
      return plot.filter(items);
    },
    isShown: (item) => !shown || shown[item] === 1,
  };
  return chart;
};
