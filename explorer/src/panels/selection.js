// What is selected: how many, of which classes, the items themselves, and the indices as a file.

import { countOf } from "../data.js";
import { byId, create } from "../dom.js";
import { describe } from "../map/tooltip.js";

const PAGE = 100;
const MOST_CLASSES = 8;

export const createSelection = (page, images, { onPoint, onGo }) => {
  const panel = byId("selection");
  let items = [];

  const classes = (column, colors) => {
    const counts = new Map();
    for (const k of items) counts.set(column.codes[k], (counts.get(column.codes[k]) ?? 0) + 1);
    const sorted = [...counts].sort((a, b) => b[1] - a[1]);
    const rows = sorted.slice(0, MOST_CLASSES).map(([code, count]) => {
      const bar = create("span", { className: "share" });
      bar.style.width = `${(100 * count) / items.length}%`;
      bar.style.background = colors[code];
      return create("li", { title: column.texts[code].slice(0, 300) }, [
        create("span", { className: "name", textContent: column.texts[code].slice(0, 200) }),
        create("span", { className: "track" }, [bar]),
        create("span", { className: "count", textContent: countOf(count) }),
      ]);
    });
    const rest = sorted.slice(MOST_CLASSES).reduce((sum, [, count]) => sum + count, 0);
    if (rest > 0) {
      rows.push(create("li", { className: "note", textContent: `${countOf(rest)} in ${countOf(sorted.length - MOST_CLASSES)} other classes` }));
    }
    return rows;
  };

  const addPage = (list, more) => {
    const from = list.children.length;
    for (const item of items.slice(from, from + PAGE)) {
      const text = describe(page, item).map(([, value]) => value.slice(0, 120)).join(" · ");
      const button = create("button", { type: "button", title: text.slice(0, 300) }, [
        ...(images.has ? [images.draw(item, create("canvas", { className: "thumb" }))] : []),
        create("span", { className: "number", textContent: item }),
        create("span", { className: "text", textContent: text }),
      ]);
      button.addEventListener("mouseenter", () => onPoint(item));
      button.addEventListener("focus", () => onPoint(item));
      button.addEventListener("click", () => onGo(item));
      list.append(create("li", {}, [button]));
    }
    more.hidden = list.children.length >= items.length;
    more.textContent = `Show more (${countOf(items.length - list.children.length)} left)`;
  };

  const render = (column, colors) => {
    panel.hidden = items.length === 0;
    if (items.length === 0) return;
    const percent = (100 * items.length) / page.n;
    const share = percent >= 0.1 && percent < 100 ? ` (${+percent.toPrecision(2)}%)` : "";
    byId("selected-count").textContent = `${countOf(items.length)} selected${share}`;
    byId("selected-classes").replaceChildren(...(column?.codes ? classes(column, colors) : []));
    const list = byId("selected-items");
    list.replaceChildren();
    const more = byId("more");
    more.onclick = () => addPage(list, more);
    addPage(list, more);
  };

  const asText = () => `index\n${items.join("\n")}\n`;
  byId("download").addEventListener("click", () => {
    const url = URL.createObjectURL(new Blob([asText()], { type: "text/csv" }));
    create("a", { href: url, download: "selection.csv" }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  });

  return {
    set(newItems, column, colors) {
      items = Array.from(newItems).sort((a, b) => a - b);
      render(column, colors);
    },
    render,
    get items() {
      return items;
    },
  };
};
