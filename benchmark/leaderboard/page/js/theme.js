// Light or dark: what the reader's system has, until they choose.

const THEME = "benchmark-theme";
const systemDark = matchMedia("(prefers-color-scheme: dark)");

function storedTheme() {
  try { return localStorage.getItem(THEME); } catch { return null; } // files may have no storage
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : systemDark.matches;
}

/** The value of a colour of the style, for what is drawn on a canvas. */
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

function themeButton(redraw) {
  const name = () => (isDark() ? "Light" : "Dark");
  const button = h("button", { class: "quiet", id: "theme", onclick: () => {
    const next = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    try { localStorage.setItem(THEME, next); } catch { /* the choice lasts as long as the page */ }
    button.textContent = name();
    redraw();
  } }, "");
  if (["light", "dark"].includes(storedTheme())) document.documentElement.dataset.theme = storedTheme();
  button.textContent = name();
  systemDark.addEventListener("change", () => { button.textContent = name(); redraw(); });
  return button;
}
