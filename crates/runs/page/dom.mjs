// DOM helpers.

/** Creates an element with attributes and children. Strings become text, never markup. */
export function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Creates an SVG element. */
export function shape(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) if (value != null) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export const byId = id => document.getElementById(id);

/** Sets an element's text only if it differs, to keep the user's selection. */
export function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}
