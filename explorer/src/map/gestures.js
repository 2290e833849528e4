// Fingers: one pans, two zoom, and in lasso mode one draws. Mice are handled by the engine.

const circle = (first, second) => ({
  x: (first.x + second.x) / 2,
  y: (first.y + second.y) / 2,
  size: Math.hypot(first.x - second.x, first.y - second.y),
});

export const listenToFingers = (canvas, chart, trace, isLasso) => {
  const fingers = new Map();
  let drawn = [];
  const at = (event) => {
    const { left, top } = canvas.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  };
  const show = () => trace.setAttribute("points", drawn.map(({ x, y }) => `${x},${y}`).join(" "));

  canvas.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse") return;
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, at(event));
    drawn = isLasso() && fingers.size === 1 ? [at(event)] : [];
    show();
  });

  canvas.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    const now = at(event);
    if (fingers.size === 2) {
      const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
      const [from, to] = [circle(before, other), circle(now, other)];
      chart.pan(to.x - from.x, to.y - from.y);
      if (from.size > 0) chart.zoom(to.size / from.size, to.x, to.y);
    } else if (drawn.length > 0) {
      drawn.push(now);
      show();
    } else if (fingers.size === 1) {
      chart.pan(now.x - before.x, now.y - before.y);
    }
    fingers.set(event.pointerId, now);
  });

  const lift = (event) => {
    fingers.delete(event.pointerId);
    if (drawn.length > 3 && event.type === "pointerup") {
      const vertices = drawn.map(({ x, y }) => chart.unproject(x, y));
      chart.plot.lassoSelect(vertices, { isGl: true });
    }
    drawn = [];
    show();
  };
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
};
