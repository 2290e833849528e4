// The legend of the current colouring: it explains the colours, and it filters.

import { countOf, numberText } from "../data.js";
import { create } from "../dom.js";

const MOST_ENTRIES = 300;
const SEARCH_FROM = 20;

export const createLegend = (holder, n, onFilter) => {
  // What is hidden in each colouring: a set of codes, or [low, high] that is kept.
  const filters = new Map();

  const mask = () => {
    const active = [...filters].filter(([, rule]) => rule.size !== 0);
    if (active.length === 0) return null;
    const shown = new Uint8Array(n).fill(1);
    for (const [column, rule] of active) {
      for (let k = 0; k < n; k++) {
        if (column.codes ? rule.has(column.codes[k]) : !rule.keeps(column.numbers[k])) shown[k] = 0;
      }
    }
    return shown;
  };
  const changed = () => onFilter(mask());

  const ofClasses = (column, colors) => {
    const hidden = filters.get(column) ?? new Set();
    filters.set(column, hidden);
    const boxes = new Map();
    const update = () => {
      boxes.forEach((box, code) => {
        box.checked = !hidden.has(code);
      });
      changed();
    };
    const set = (visible) => {
      hidden.clear();
      column.texts.forEach((_, code) => visible(code) || hidden.add(code));
      update();
    };

    const order = column.texts.map((_, code) => code);
    if (order.length > MOST_ENTRIES) order.sort((a, b) => column.counts[b] - column.counts[a]);
    const listed = order.slice(0, MOST_ENTRIES);
    const entries = create("ul", { className: "entries" });
    for (const code of listed) {
      const box = create("input", { type: "checkbox", checked: !hidden.has(code) });
      box.addEventListener("change", () => {
        if (box.checked) hidden.delete(code);
        else hidden.add(code);
        changed();
      });
      boxes.set(code, box);
      const swatch = create("span", { className: "swatch" });
      swatch.style.background = colors[code];
      const only = create("button", { className: "only", textContent: "only", type: "button" });
      only.setAttribute("aria-label", `Show only ${column.texts[code].slice(0, 80)}`);
      only.addEventListener("click", () => set((other) => other === code));
      entries.append(
        create("li", { title: column.texts[code].slice(0, 300) }, [
          create("label", {}, [
            box,
            swatch,
            create("span", { className: "name", textContent: column.texts[code].slice(0, 200) }),
            create("span", { className: "count", textContent: countOf(column.counts[code]) }),
          ]),
          only,
        ]),
      );
    }

    const actions = create("div", { className: "actions" });
    for (const [text, visible] of [["All", () => true], ["None", () => false]]) {
      const button = create("button", { textContent: text, type: "button" });
      button.addEventListener("click", () => set(visible));
      actions.append(button);
    }
    if (listed.length > SEARCH_FROM) {
      const find = create("input", { type: "search", placeholder: "Find a class", ariaLabel: "Find a class" });
      find.addEventListener("input", () => {
        const wanted = find.value.trim().toLowerCase();
        listed.forEach((code, row) => {
          entries.children[row].hidden = !column.texts[code].toLowerCase().includes(wanted);
        });
      });
      actions.append(find);
    }
    holder.append(actions, entries);
    const more = column.texts.length - listed.length;
    if (more > 0) {
      holder.append(create("p", { className: "note", textContent: `and ${countOf(more)} smaller classes` }));
    }
    const grey = listed.length > 20;
    if (grey) holder.append(create("p", { className: "note", textContent: "The 20 largest classes have colours of their own." }));
  };

  const ofNumbers = (column, colors) => {
    const { low, high } = column;
    const rule = filters.get(column) ?? { size: 0, low, high };
    rule.keeps = (value) => value >= rule.low && value <= rule.high;
    filters.set(column, rule);
    const bar = create("div", { className: "bar" });
    bar.style.background = `linear-gradient(to right, ${colors.slice(0, -1).join(",")})`;
    const ends = create("div", { className: "ends" });
    const sliders = ["low", "high"].map((end) => {
      const slider = create("input", { type: "range", min: 0, max: 1000, step: 1 });
      slider.setAttribute("aria-label", end === "low" ? "Lowest number shown" : "Highest number shown");
      slider.value = high > low ? Math.round((1000 * (rule[end] - low)) / (high - low)) : end === "low" ? 0 : 1000;
      slider.addEventListener("input", () => {
        if (+sliders[0].value > +sliders[1].value) slider.value = sliders[end === "low" ? 1 : 0].value;
        const at = (k) => {
          const share = +sliders[k].value / 1000;
          return share === 0 ? low : share === 1 ? high : low + share * (high - low);
        };
        Object.assign(rule, { low: at(0), high: at(1) });
        rule.size = rule.low > low || rule.high < high ? 1 : 0;
        describe();
        changed();
      });
      return slider;
    });
    const describe = () => {
      ends.replaceChildren(
        create("span", { textContent: numberText(rule.low) }),
        create("span", { textContent: numberText(rule.high) }),
      );
    };
    describe();
    holder.append(bar, create("div", { className: "range" }, sliders), ends);
    const missing = column.numbers.reduce((sum, value) => sum + !Number.isFinite(value), 0);
    if (missing > 0) {
      holder.append(create("p", { className: "note", textContent: `${countOf(missing)} without a number are grey` }));
    }
  };

  return {
    render(column, colors) {
      holder.replaceChildren();
      if (column?.codes) ofClasses(column, colors);
      else if (column?.numbers) ofNumbers(column, colors);
    },
    showAll() {
      filters.clear();
      changed();
    },
  };
};
