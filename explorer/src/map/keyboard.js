// Keys. With the map in focus arrows move it; with Shift they step from item to item.

const STEP = 60; // pixels
const DIRECTIONS = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

// The nearest shown item in a direction; without a direction, the one nearest to a place.
const nearest = (chart, [x, y], direction, self) => {
  let [best, found] = [Infinity, -1];
  for (let k = 0; k < chart.x.length; k++) {
    if (k === self || !chart.isShown(k)) continue;
    const [dx, dy] = [chart.x[k] - x, chart.y[k] - y];
    let distance = dx * dx + dy * dy;
    if (direction) {
      const ahead = dx * direction[0] - dy * direction[1];
      if (ahead <= 0 || ahead * ahead * 2 < distance) continue;
      // of two items, the one that lies more nearly ahead
      distance = distance * distance / (ahead * ahead);
    }
    if (distance < best) [best, found] = [distance, k];
  }
  return found;
};

export const listenToKeys = (canvas, chart, { goTo, current, select, actions }) => {
  const step = (direction) => {
    const self = current();
    const from = self >= 0
      ? [chart.x[self], chart.y[self]]
      : chart.unproject(canvas.clientWidth / 2, canvas.clientHeight / 2);
    const found = nearest(chart, from, self >= 0 ? direction : null, self);
    if (found < 0) return;
    const [sx, sy] = chart.project(chart.x[found], chart.y[found]);
    const inside = sx > 0 && sy > 0 && sx < canvas.clientWidth && sy < canvas.clientHeight;
    if (!inside) chart.pan(canvas.clientWidth / 2 - sx, canvas.clientHeight / 2 - sy);
    goTo(found);
  };

  canvas.addEventListener("keydown", (event) => {
    const direction = DIRECTIONS[event.key];
    if (direction) {
      if (event.shiftKey) step(direction);
      else chart.pan(-STEP * direction[0], -STEP * direction[1]);
    } else if (event.key === "Enter" && current() >= 0) select(current(), event.shiftKey);
    else if (event.key === "+" || event.key === "=") chart.zoom(1.3);
    else if (event.key === "-") chart.zoom(1 / 1.3);
    else return;
    event.preventDefault();
  });

  window.addEventListener("keydown", (event) => {
    const typing = event.target.matches?.("input:not([type=checkbox]):not([type=range]), select, textarea");
    const name = event.key === "Escape" ? "Escape" : typing ? "" : event.key;
    if (document.querySelector("dialog[open]")) return;
    if (event.ctrlKey || event.metaKey || event.altKey || !actions[name]) return;
    event.preventDefault();
    actions[name]();
  });
};
