// Elements. Text is always text: nothing here or elsewhere on the page sets markup.

/** h("button", { class: "chip", onclick: run }, "text", node): an element with attributes, listeners and children. */
function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** A labelled drop-down of [value, text] pairs. */
function choice(label, options, value, onchange, id) {
  const select = h("select", { id, onchange: () => onchange(select.value) },
    options.map(([key, text]) => h("option", { value: key }, text)));
  select.value = value;
  return h("label", { class: "choice" }, h("span", {}, label), select);
}

/** A table to read: header, then rows of texts. */
function plainTable(header, rows, attributes = {}) {
  const head = h("tr", {}, header.map((text) => h("th", { scope: "col" }, text)));
  const line = ([first, ...rest]) => h("tr", {}, h("th", { scope: "row" }, first), rest.map((cell) => h("td", {}, cell)));
  return h("div", { class: "scroll", tabindex: "0" },
    h("table", { class: "plain", ...attributes }, h("thead", {}, head), h("tbody", {}, rows.map(line))));
}

/** One tooltip for the page: of whatever has data-tip and is pointed at or has the focus. */
function startTooltips() {
  const tip = h("div", { id: "tip", role: "tooltip", hidden: true });
  document.body.append(tip);
  const show = (event) => {
    const owner = event.target.closest?.("[data-tip]");
    if (!owner) return hide();
    (owner.closest("dialog") ?? document.body).append(tip); // a dialog covers what is outside it
    tip.textContent = owner.dataset.tip;
    tip.hidden = false;
    const box = owner.getBoundingClientRect(), own = tip.getBoundingClientRect();
    const above = box.bottom + own.height + 12 > innerHeight;
    tip.style.top = `${above ? Math.max(4, box.top - own.height - 6) : box.bottom + 6}px`;
    tip.style.left = `${Math.max(6, Math.min(box.left, innerWidth - own.width - 6))}px`;
  };
  const hide = () => { tip.hidden = true; };
  document.addEventListener("mouseover", show);
  document.addEventListener("focusin", (event) => event.target.matches(":focus-visible") ? show(event) : hide());
  document.addEventListener("scroll", hide, true);
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
}
