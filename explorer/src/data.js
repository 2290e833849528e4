// What Python wrote into the page: typed arrays from base64, and questions about single items.

const TYPES = {
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  float32: Float32Array,
  float64: Float64Array,
};

export const decode = ({ type, base64 }) => {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let k = 0; k < text.length; k++) bytes[k] = text.charCodeAt(k);
  return new TYPES[type](bytes.buffer);
};

export const countOf = new Intl.NumberFormat("en").format;

export const numberText = (value) => {
  if (!Number.isFinite(value)) return "(missing)";
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return value.toExponential(3);
  return String(+value.toPrecision(5));
};

// A column has values of its own (texts or numbers), or codes into a list of texts.
const readColumn = (column) => {
  if (column.numbers) return { ...column, numbers: decode(column.numbers) };
  if (column.codes) return { ...column, codes: decode(column.codes) };
  return column;
};

export const textOf = (column, item) => {
  if (column.numbers) return numberText(column.numbers[item]);
  return column.texts[column.codes ? column.codes[item] : item];
};

export const readPage = () => {
  const page = JSON.parse(document.getElementById("data").textContent);
  page.components = page.components.map(decode);
  page.columns = page.columns.map(readColumn);
  page.edges = page.edges && { ...page.edges, pairs: decode(page.edges.pairs) };
  for (const column of page.columns) {
    if (column.codes) {
      column.counts = new Uint32Array(column.texts.length);
      for (const code of column.codes) column.counts[code]++;
    }
  }
  page.colorings = page.colorings.map((index) => page.columns[index]);
  return page;
};
