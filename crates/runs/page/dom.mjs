// Elements by the line.

/** An element with attributes and children. Text never becomes markup. */
export function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function shape(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) if (value != null) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export const byId = id => document.getElementById(id);

/** Changes an element's text only if it differs, so that a reader's selection stays. */
export function say(target, text) {
  if (target.textContent !== text) target.textContent = text;
}
