// Puts the parts of the page together.

import { countOf, readPage } from "./data.js";
import { byId, create, later, say } from "./dom.js";
import { createChart } from "./map/chart.js";
import { listenToFingers } from "./map/gestures.js";
import { createImages } from "./map/images.js";
import { listenToKeys } from "./map/keyboard.js";
import { createLabels } from "./map/labels.js";
import { createThumbnails } from "./map/thumbnails.js";
import { createTooltip } from "./map/tooltip.js";
import { classColors, numberColors, numberSteps } from "./palette.js";
import { createLegend } from "./panels/legend.js";
import { createSearch } from "./panels/search.js";
import { createSelection } from "./panels/selection.js";
import { createTheme } from "./theme.js";

const THEMES = {
  light: { background: "#ffffff", lasso: "#1b6fd6", plain: "#3f6ea3" },
  dark: { background: "#14171c", lasso: "#6cb2ff", plain: "#7fb0e6" },
};

const start = async () => {
  const page = readPage();
  const canvas = byId("canvas");
  const [first, second] = [page.components[0], page.components[1]];
  const chart = createChart(canvas, byId("picture"), first, second);
  const images = createImages(page.images);
  const tooltip = createTooltip(page, chart, images);
  const labels = createLabels(chart);
  const thumbnails = createThumbnails(chart, images);
  const search = createSearch(page);
  let coloring = page.colorings[0];
  let colors = [];

  const select = (items, options) => chart.plot.select(items, options);
  const home = () => {
    byId("outside").hidden = true;
    return chart.fit(chart.boxOf(chart.x.keys()), true);
  };
  // A few islands far away do not shrink the rest to a spot; a note says that they are there.
  const firstView = () => {
    const box = chart.mainBox();
    chart.fit(box);
    const outside = chart.x.filter(
      (x, k) => x < box[0] || x > box[2] || chart.y[k] < box[1] || chart.y[k] > box[3],
    ).length;
    byId("outside").hidden = outside === 0;
    byId("outside").firstElementChild.textContent = `${countOf(outside)} items lie outside.`;
  };

  const colorsOf = (theme) => {
    if (!coloring) return [THEMES[theme].plain];
    return coloring.codes ? classColors(coloring, theme) : numberColors(theme);
  };
  // The colours of selected items and of the one pointed at count where all items have one colour.
  const setGround = (theme) => {
    const { background, lasso } = THEMES[theme];
    chart.plot.set({
      backgroundColor: background,
      lassoColor: lasso,
      pointColorActive: lasso,
      pointColorHover: lasso,
    });
  };
  const applyTheme = (theme) => {
    colors = colorsOf(theme);
    setGround(theme);
    chart.recolor(colors);
    legend.render(coloring, colors);
    selection.render(coloring, colors);
    drawEdges(theme);
  };
  const theme = createTheme(applyTheme);

  const drawEdges = (name) => {
    if (!page.edges) return;
    const { pairs } = page.edges;
    const lines = [];
    for (let k = 0; k < pairs.length; k += 2) {
      const [a, b] = [pairs[k], pairs[k + 1]];
      if (!chart.isShown(a) || !chart.isShown(b)) continue;
      lines.push({
        vertices: [[chart.x[a], chart.y[a]], [chart.x[b], chart.y[b]]],
        lineColor: name === "dark" ? [1, 1, 1, 0.18] : [0, 0, 0, 0.16],
        lineWidth: 1,
      });
    }
    chart.link(lines);
  };

  const legend = createLegend(byId("legend"), page.n, (mask) => {
    chart.show(mask);
    const count = mask ? mask.reduce((sum, one) => sum + one, 0) : page.n;
    const note = byId("shown");
    note.hidden = count === page.n;
    note.firstElementChild.textContent = `${countOf(count)} of ${countOf(page.n)} shown.`;
    labels.render(coloring);
    drawEdges(theme.current());
    if (tooltip.item >= 0 && !chart.isShown(tooltip.item)) tooltip.hide();
  });

  const selection = createSelection(page, images, {
    onPoint: (item) => tooltip.show(item),
    onGo: (item) => {
      const [sx, sy] = chart.project(chart.x[item], chart.y[item]);
      chart.pan(canvas.clientWidth / 2 - sx, canvas.clientHeight / 2 - sy);
      tooltip.show(item, true);
    },
  });
  const showSelection = (items) => {
    selection.set(items, coloring, colors);
    // to the widget of a notebook, if the page is in one
    if (window.parent !== window) {
      window.parent.postMessage({ about: "skmde selection", items: selection.items }, "*");
    }
    say(items.length > 0 ? `${countOf(items.length)} selected` : "Nothing selected");
  };

  // One after the other: the engine refuses to draw while it draws.
  let painting = Promise.resolve();
  const paint = () => {
    painting = painting.then(paintNow);
    return painting;
  };
  const paintNow = async () => {
    colors = colorsOf(theme.current());
    const codes = !coloring
      ? new Uint8Array(page.n)
      : (coloring.codes ?? numberSteps(coloring));
    await chart.paint(codes, colors);
    legend.render(coloring, colors);
    labels.render(coloring);
    selection.render(coloring, colors);
  };

  if (page.edges && page.edges.drawn < page.edges.total) {
    byId("edges").hidden = false;
    byId("edges").textContent = `${countOf(page.edges.drawn)} of ${countOf(page.edges.total)} edges are drawn.`;
  }

  // Choices: of the colouring, and of two axes where there are more.
  const choose = byId("coloring");
  page.colorings.forEach((column, k) => choose.append(create("option", { value: k, textContent: column.name })));
  byId("colors").hidden = page.colorings.length === 0;
  choose.addEventListener("change", () => {
    coloring = page.colorings[choose.value];
    paint();
  });
  const axes = [byId("across"), byId("up")];
  byId("axes").hidden = page.components.length < 3;
  axes.forEach((axis, position) => {
    page.names.forEach((name, k) => axis.append(create("option", { value: k, textContent: name })));
    axis.value = position;
    axis.addEventListener("change", async () => {
      chart.move(...axes.map((one) => page.components[one.value]));
      tooltip.hide();
      await paint();
      drawEdges(theme.current());
      home();
    });
  });

  // Search
  const field = byId("search");
  const found = byId("found");
  const find = () => {
    const items = search(field.value).filter(chart.isShown);
    tooltip.hide();
    found.hidden = field.value.trim() === "";
    found.textContent = items.length > 0 ? `${countOf(items.length)} found; Enter zooms to them` : "Nothing found";
    select(items);
    return items;
  };
  field.addEventListener("input", later(page.n > 100000 ? 300 : 120, find));
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    const items = find();
    if (items.length > 0) chart.fit(chart.boxOf(items), true);
  });

  // Buttons and keys
  const isLasso = () => chart.plot.get("mouseMode") === "lasso";
  const zoomToSelection = () => selection.items.length > 0 && chart.fit(chart.boxOf(selection.items), true);
  const actions = {
    l: () => {
      chart.plot.set({ mouseMode: isLasso() ? "panZoom" : "lasso" });
      byId("lasso").setAttribute("aria-pressed", isLasso());
      byId("map").classList.toggle("lasso", isLasso());
    },
    0: home,
    v: () => select(chart.inView()),
    z: zoomToSelection,
    t: theme.toggle,
    c: () => {
      if (page.colorings.length === 0) return;
      choose.selectedIndex = (choose.selectedIndex + 1) % page.colorings.length;
      choose.dispatchEvent(new Event("change"));
      say(`Colour: ${coloring.name}`);
    },
    "/": () => field.focus(),
    "?": () => byId("help").showModal(),
    Escape: () => {
      field.value = "";
      found.hidden = true;
      select([]);
      tooltip.hide();
    },
  };
  const buttons = {
    lasso: actions.l,
    fit: home,
    "show-outside": home,
    closer: () => chart.zoom(1.5),
    farther: () => chart.zoom(1 / 1.5),
    theme: theme.toggle,
    about: actions["?"],
    zoom: zoomToSelection,
    clear: actions.Escape,
    "show-all": () => {
      legend.showAll();
      legend.render(coloring, colors);
    },
  };
  Object.entries(buttons).forEach(([id, action]) => byId(id).addEventListener("click", action));
  listenToKeys(canvas, chart, {
    goTo: (item) => tooltip.show(item, true),
    current: () => tooltip.item,
    select: (item, add) => select(add ? [...selection.items, item] : [item]),
    actions,
  });
  listenToFingers(canvas, chart, byId("trace").firstElementChild, isLasso);

  chart.on("pointover", (item) => tooltip.show(item));
  chart.on("pointout", () => tooltip.hide());
  canvas.addEventListener("mouseleave", () => tooltip.hide());
  chart.on("select", ({ points }) => showSelection(points));
  chart.on("deselect", () => showSelection([]));
  chart.on("drawing", () => {
    labels.place();
    tooltip.place();
    thumbnails.place();
    thumbnails.render();
  });

  setGround(theme.current());
  firstView();
  await paint();
  drawEdges(theme.current());
  // milliseconds until the map was first drawn
  document.body.dataset.ready = Math.round(performance.now());
  // For tests and for notebooks.
  window.explorer = { chart, page, selection };
};

start().catch((error) => {
  const note = byId("failure");
  note.hidden = false;
  note.textContent = `The map cannot be drawn: ${error.message}. It needs a browser with WebGL.`;
  throw error;
});
