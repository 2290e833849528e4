// Search in the texts of items. Each word has to begin a word of one of an item's columns, a number
// has to be a number there, and #12 is item 12. Case, accents and punctuation do not matter.

import { textOf } from "../data.js";

const plain = (text) => {
  const letters = text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  // a point within a number belongs to it
  return ` ${letters.replace(/[^\p{L}\p{N}#.]+|\.(?!\p{N})/gu, " ")} `;
};

const sought = (word) => {
  if (/^[\d.]+$/.test(word)) return ` ${word} `;
  // scripts such as Chinese have no spaces between words
  return /^[\p{Script=Latin}\p{N}]+$/u.test(word) ? ` ${word}` : word;
};

// 1 for each item that has the word in some column.
const itemsWith = (page, word, folded) => {
  const found = new Uint8Array(page.n);
  if (/^#\d+$/.test(word)) {
    const item = Number(word.slice(1));
    if (item < page.n) found[item] = 1;
    return found;
  }
  page.columns.forEach((column, index) => {
    if (!folded.has(index)) {
      const texts = column.texts ?? Array.from(column.numbers, (_, k) => textOf(column, k));
      folded.set(index, texts.map(plain));
    }
    const hits = folded.get(index).map((text) => text.includes(sought(word)));
    for (let k = 0; k < page.n; k++) {
      if (hits[column.codes ? column.codes[k] : k]) found[k] = 1;
    }
  });
  return found;
};

export const createSearch = (page) => {
  const folded = new Map();
  return (query) => {
    const words = plain(query).split(/\s+/).filter(Boolean);
    if (words.length === 0) return [];
    const masks = words.map((word) => itemsWith(page, word, folded));
    const items = [];
    for (let k = 0; k < page.n; k++) if (masks.every((mask) => mask[k])) items.push(k);
    return items;
  };
};
