// Elements and text. Nothing here or elsewhere parses HTML: labels are data.

export const byId = (id) => document.getElementById(id);

export const create = (tag, properties = {}, children = []) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};

export const say = (text) => {
  byId("status").textContent = text;
};

export const later = (wait, action) => {
  let timer;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...values), wait);
  };
};
