// Light or dark: as the system says, until the switch says otherwise.

const system = window.matchMedia("(prefers-color-scheme: dark)");

export const createTheme = (onChange) => {
  let chosen = null;
  const current = () => chosen ?? (system.matches ? "dark" : "light");
  const apply = () => {
    document.documentElement.dataset.theme = current();
    onChange(current());
  };
  document.documentElement.dataset.theme = current();
  system.addEventListener("change", apply);
  return {
    current,
    toggle() {
      chosen = current() === "dark" ? "light" : "dark";
      apply();
    },
  };
};
