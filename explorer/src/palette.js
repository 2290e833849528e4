// Colours of classes and of numbers, for a light and a dark ground. Those of classes are told apart
// under the three kinds of colour blindness as far as their number allows; beyond 20 classes the
// largest have colours of their own and the others share one grey.

const CLASSES = {
  light: {
    6: "15528d f38d00 1b8d83 a60028 874ce3 4ba7fd",
    10: "0a598b ff880e 48846b d94027 9f4eed 38b4fd b886ba 613b02 89b57e 261274",
    20:
      "504672 918b29 349667 8e0058 451898 878cc7 925580 57331a 70702a 29192f " +
      "0f74ea fca80e 5fa5a7 f84a87 646ab1 18c6fd cba4d6 804c4c 97c086 4350b5",
  },
  dark: {
    6: "2f8fb3 c08407 36c292 bd0812 7e55e7 96d1fa",
    10: "4498ce fc7f17 177e2b c26983 852dbb a3b3fb fdc1ca b6a893 f8f264 876bfd",
    20:
      "1e55c1 b0781b 156a06 b71466 7b409b 5c9edb d19d8d 868291 9bd32e 7d55f3 " +
      "9fb5f0 f5d99b 35babb d35e6c 987bfe 20edfc f1b288 aca058 dcf5d1 3f81be",
  },
};
// Viridis without the end that vanishes in the ground.
const NUMBERS = {
  light: "440154 482878 3e4989 31688e 26828e 1f9e89 35b779 6ece58 a5db36 d2e21b",
  dark: "414487 355f8d 2a788e 21918c 22a884 44bf70 7ad151 a5db36 d2e21b fde725",
};
export const GREY = { light: "#c4c4c4", dark: "#565b63" };
const STEPS = 64;

const list = (text) => text.split(" ").map((code) => `#${code}`);
const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
const hex = (rgb) => `#${rgb.map((c) => Math.round(c).toString(16).padStart(2, "0")).join("")}`;

export const classColors = (column, theme) => {
  const colored = column.texts.map((_, code) => code).filter((code) => code !== column.missing);
  const size = [6, 10, 20].find((limit) => colored.length <= limit) ?? 20;
  const own = colored.length <= size
    ? colored
    : [...colored].sort((a, b) => column.counts[b] - column.counts[a]).slice(0, size).sort((a, b) => a - b);
  const colors = new Array(column.texts.length).fill(GREY[theme]);
  const palette = list(CLASSES[theme][size]);
  own.forEach((code, rank) => {
    colors[code] = palette[rank];
  });
  return colors;
};

// STEPS colours from low to high; the last entry is that of missing values.
export const numberColors = (theme) => {
  const anchors = list(NUMBERS[theme]).map(channels);
  const colors = [];
  for (let step = 0; step < STEPS; step++) {
    const at = (step / (STEPS - 1)) * (anchors.length - 1);
    const k = Math.min(Math.floor(at), anchors.length - 2);
    colors.push(hex(anchors[k].map((c, i) => c + (at - k) * (anchors[k + 1][i] - c))));
  }
  return [...colors, GREY[theme]];
};

// Index into numberColors of each number.
export const numberSteps = ({ numbers, low, high }) =>
  Uint8Array.from(numbers, (value) => {
    if (!Number.isFinite(value)) return STEPS;
    const share = high > low ? (value - low) / (high - low) : 0.5;
    return Math.max(0, Math.min(STEPS - 1, Math.floor(share * STEPS)));
  });
