// Movement on machines that cannot draw all points at 30 frames a second, such as those without a
// graphics card: while the map moves, its last picture moves, which costs the browser next to
// nothing, and all points are drawn again when the map rests. The picture reaches beyond the map,
// so that a short way uncovers nothing blank. Whether a machine is such a one is measured, again
// after each movement; all others draw all points in each frame.

const LONGEST = 33; // milliseconds for a frame
// To draw alone takes less than this where a frame takes less than LONGEST.
const SHORT = LONGEST / 3;
const PAUSE = 150; // milliseconds without movement, after which the map rests
const PAUSE_FRAMES = 3; // and frames, which may be long
const BEYOND = 0.2; // of the map's width and height, at each side
const COVERED = 0.6; // of the map, at least, by a picture that moves
const SCALES = [0.5, 2]; // of such a picture

// `camera` returns the engine's camera; `redraw` asks the engine for a frame.
export const createMotion = (renderer, canvas, { camera, redraw }) => {
  const { render, canvas: picture } = renderer;
  const holder = canvas.parentElement;
  let isSlow = false;
  let isOutgrown = false; // whether the picture has the size for the other kind of machines
  let drawn = null; // view of the picture, if it shows what the map shows
  let shown = null; // view of the last frame
  let frame = 0;
  let last = { frame: -1, time: 0 }; // frame of a movement in which all points were drawn
  let untimed = 2; // frames to be timed
  let long = 0; // of them and of frames in movements, those in succession that took long
  let moved = null; // frame and time of the last movement, until all points are drawn again
  let changing = 0;
  let isHover = false; // whether another item is pointed at, which is no reason to draw all

  const viewOf = () => {
    const view = camera().view;
    return [view[0], view[12], view[13]];
  };
  const isEqual = (a, b) => a !== null && a.every((value, k) => value === b[k]);

  // From the picture to the map: scale, and shift of the centre in pixels.
  const way = (from, to) => {
    const scale = to[0] / from[0];
    const half = canvas.clientHeight / 2;
    return [scale, half * (to[1] - scale * from[1]), -half * (to[2] - scale * from[2])];
  };
  // The share of the map that a picture covers that has gone this way.
  const coverage = ([scale, ...shift]) => {
    const sizes = [canvas.clientWidth, canvas.clientHeight];
    const whole = [picture.clientWidth, picture.clientHeight];
    return sizes
      .map((size, k) => {
        const [middle, half] = [size / 2 + shift[k], (scale * whole[k]) / 2];
        return Math.max(0, Math.min(size, middle + half) - Math.max(0, middle - half)) / size;
      })
      .reduce((a, b) => a * b, 1);
  };

  const resize = () => {
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    const beyond = (length) => (isSlow ? Math.round(length * BEYOND) : 0);
    const [x, y] = [beyond(width), beyond(height)];
    Object.assign(picture.style, {
      left: `${-x}px`, top: `${-y}px`, width: `${width + 2 * x}px`, height: `${height + 2 * y}px`,
    });
    renderer.resize(width + 2 * x, height + 2 * y);
    renderer.refresh();
    drawn = null;
    isOutgrown = false;
    redraw();
  };

  const judge = (milliseconds) => {
    long = milliseconds > (isSlow ? SHORT : LONGEST) ? long + 1 : 0;
    const before = isSlow;
    isSlow = isSlow ? long > 0 : long > 1;
    // not here, where the engine is within a frame
    isOutgrown = isSlow !== before;
  };

  const drawAll = (draw, target, view, isMoving) => {
    const start = performance.now();
    render(draw, target);
    [drawn, shown] = [view, view];
    holder.classList.remove("moving");
    if (isMoving && !isSlow) {
      if (last.frame === frame - 1) judge(start - last.time);
      last = { frame, time: start };
    } else if (untimed > 0) {
      untimed -= 1;
      // to read a pixel is to wait until it is drawn
      renderer.regl.read({ x: 0, y: 0, width: 1, height: 1 });
      judge(performance.now() - start);
    }
  };

  renderer.onFrame(() => {
    frame += 1;
    if (isOutgrown) resize();
    if (!moved || frame - moved.frame < PAUSE_FRAMES || performance.now() - moved.time < PAUSE) return;
    moved = null;
    untimed = 1;
    redraw();
  });
  renderer.render = (draw, target) => {
    // a frame that its page has not laid out yet; it is drawn when it gets a size
    if (picture.width === 0 || picture.height === 0) return;
    const view = viewOf();
    const isMoving = shown !== null && !isEqual(shown, view);
    if (isMoving || (isHover && isSlow && drawn && !changing)) moved = { frame, time: performance.now() };
    isHover = false;
    // within a movement the picture stays, also in a frame in which the mouse stands still
    const gone = moved && isSlow && drawn && !changing && way(drawn, view);
    if (!gone || gone[0] < SCALES[0] || gone[0] > SCALES[1] || coverage(gone) < COVERED) {
      drawAll(draw, target, view, isMoving);
      return;
    }
    shown = view;
    if (isEqual(drawn, view) && !holder.classList.contains("moving")) return;
    picture.style.transform = `translate(${gone[1]}px, ${gone[2]}px) scale(${gone[0]})`;
    holder.classList.add("moving");
  };

  return {
    resize,
    // What the map shows has changed, so the picture of before may not move in its place.
    forget() {
      drawn = null;
    },
    // As `forget`, for what takes several frames.
    during(promise) {
      changing += 1;
      return promise.finally(() => {
        changing -= 1;
      });
    },
    hover() {
      isHover = true;
    },
    get isSlow() {
      return isSlow;
    },
  };
};
