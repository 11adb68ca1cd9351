// Helpers for all parts of the page: DOM elements, and the formatting of numbers and times.

const SVG = "http://www.w3.org/2000/svg";

// Create an element: el("button", {class: "primary", onclick: run}, "Run"). Strings become text nodes, never HTML.
export function el(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const byId = (id) => document.getElementById(id);

// Set an element's text only if it differs, which saves the browser a layout.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function setClass(element, name) {
  if (element.getAttribute("class") !== name) element.setAttribute("class", name);
}

// A short form of a number: 1234567 → "1.2M"; "–" if there is none.
export function short(number) {
  if (number === null || number === undefined || Number.isNaN(number)) return "–";
  const size = Math.abs(number);
  if (size >= 1e9) return `${trim(number / 1e9)}G`;
  if (size >= 1e6) return `${trim(number / 1e6)}M`;
  if (size >= 1e4) return `${trim(number / 1e3)}k`;
  if (size >= 1000) return Math.round(number).toLocaleString("en");
  return trim(number);
}

const trim = (number) => String(Math.abs(number) >= 100 ? Math.round(number) : Math.round(number * 10) / 10);

export const rate = (perSecond) => (perSecond === null ? "–" : `${short(perSecond)}/s`);

export function bytes(number) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(Math.floor(Math.log2(Math.max(number, 1)) / 10), 4);
  return `${trim(number / 1024 ** power)} ${units[power]}`;
}

export function millis(ms) {
  if (ms === null || ms === undefined) return "–";
  if (ms === Infinity) return "> 10 min";
  if (ms < 1000) return `${trim(ms)} ms`;
  return ms < 60000 ? `${trim(ms / 1000)} s` : `${trim(ms / 60000)} min`;
}

export function ago(at) {
  const seconds = Math.max(0, Math.round((Date.now() - at) / 1000));
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  return seconds < 86400 ? `${Math.floor(seconds / 3600)} h ago` : `${Math.floor(seconds / 86400)} d ago`;
}

export const clock = (at) => new Date(at).toLocaleTimeString("en-GB") + `.${String(at % 1000).padStart(3, "0")}`;

// Ask the user to confirm an action that affects others; resolves to true if it is confirmed.
export function confirmed(title, text, verb) {
  const dialog = byId("confirm");
  setText(byId("confirm-title"), title);
  setText(byId("confirm-text"), text);
  setText(byId("confirm-yes"), verb);
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), {once: true});
  });
}
