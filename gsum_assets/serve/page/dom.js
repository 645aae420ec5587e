// Elements from plain values. Texts are put in as text, never as HTML.

/** Return an element. `attrs`: attributes; functions are listeners; null and false are left out. */
export function h(tag, attrs = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attrs)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Replace what an element contains. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Say something to screen readers, without moving the focus. */
export function say(text) {
  document.getElementById("live").textContent = text;
}

export const count = (n, noun, plural = `${noun}s`) => `${n.toLocaleString("en")} ${n === 1 ? noun : plural}`;

/** Return a message of an error, with the words of the server. */
export const failure = (error) => h("p", { class: "failure", role: "alert" }, error.message);

export const busy = (text) => h("p", { class: "busy" }, text);

/** Return a function that runs the last of several calls, after a pause. */
export function after(pause, run) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => run(...values), pause);
  };
}

/** Return options of a select element from [value, text] pairs. */
export const options = (pairs, chosen) =>
  pairs.map(([value, text]) => h("option", { value, selected: value === chosen }, text));
