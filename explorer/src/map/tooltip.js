// What is shown beside the item under the pointer, or at the keyboard's cursor.

import { textOf } from "../data.js";
import { byId, create, say } from "../dom.js";

const GAP = 14;

export const describe = (page, item) =>
  page.columns.map((column) => [column.name, textOf(column, item)]);

export const createTooltip = (page, chart, images) => {
  const box = byId("tooltip");
  const ring = byId("ring");
  const picture = create("canvas", { className: "picture" });
  if (images.has) {
    picture.style.width = `${images.width * images.scale}px`;
    picture.style.height = `${images.height * images.scale}px`;
  }
  let shown = -1;

  const place = () => {
    if (shown < 0) return;
    const [x, y] = chart.project(chart.x[shown], chart.y[shown]);
    const map = byId("map");
    ring.style.transform = `translate(${x}px, ${y}px)`;
    const right = x + GAP + box.offsetWidth <= map.clientWidth;
    const left = right ? x + GAP : Math.max(4, x - GAP - box.offsetWidth);
    const top = Math.min(Math.max(4, y - box.offsetHeight / 2), map.clientHeight - box.offsetHeight - 4);
    box.style.transform = `translate(${left}px, ${Math.max(4, top)}px)`;
  };

  const hide = () => {
    shown = -1;
    box.hidden = true;
    ring.hidden = true;
  };

  return {
    show(item, aloud = false) {
      shown = item;
      const lines = create("dl");
      const texts = describe(page, item);
      for (const [name, text] of texts) {
        lines.append(create("dt", { textContent: name }), create("dd", { textContent: text }));
      }
      box.replaceChildren(
        ...(images.has ? [images.draw(item, picture)] : []),
        create("div", { className: "item", textContent: `item ${item}` }),
        lines,
      );
      box.hidden = false;
      ring.hidden = false;
      place();
      if (aloud) {
        say(`item ${item}, ${texts.map((pair) => pair.join(" ").slice(0, 200)).join(", ")}`);
      }
    },
    hide,
    place,
    get item() {
      return shown;
    },
  };
};
