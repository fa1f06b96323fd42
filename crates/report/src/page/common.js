"use strict";
const byId = (id) => document.getElementById(id);
const make = (tag, className, text) => {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
};

// Light and dark: as the system says, until somebody says otherwise.
const root = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");
let wanted = null;
const paint = () => { root.dataset.theme = wanted || (system.matches ? "dark" : "light"); };
system.addEventListener("change", paint);
byId("theme").addEventListener("click", () => {
  wanted = root.dataset.theme === "dark" ? "light" : "dark";
  paint();
});
paint();

let tipOf = () => "";
// What is pointed at, or has the focus, says what it is.
const tip = byId("tip");
const tell = (text, x, y) => {
  tip.textContent = text;
  tip.hidden = !text;
  if (!text) return;
  tip.style.left = Math.max(4, Math.min(x + 12, innerWidth - tip.offsetWidth - 6)) + "px";
  tip.style.top = (y + 18 + tip.offsetHeight > innerHeight ? y - tip.offsetHeight - 8 : y + 14) + "px";
};
const said = (element) => element.dataset ? element.dataset.tip || tipOf(element) || "" : "";
document.addEventListener("pointermove", (event) => tell(said(event.target), event.clientX, event.clientY));
document.addEventListener("focusin", (event) => {
  const text = said(event.target);
  const box = event.target.getBoundingClientRect();
  if (text) tell(text, box.left, box.bottom);
});
document.addEventListener("focusout", () => tell(""));
addEventListener("scroll", () => tell(""), { passive: true });
byId("copy").addEventListener("click", async () => {
  const text = byId("command").textContent;
  try { await navigator.clipboard.writeText(text); } catch {
    const range = document.createRange();
    range.selectNodeContents(byId("command"));
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    document.execCommand("copy");
  }
  byId("copy").textContent = "Copied";
});


// Tables for other programs.
const quoted = (value) => {
  const plain = value === undefined || value === null ? "" : String(value);
  // No formula of a spreadsheet: an apostrophe makes it text.
  const text = /^[=+\-@\t\r]/.test(plain) && isNaN(Number(plain)) ? "'" + plain : plain;
  return /[",\n]/.test(text) ? "\"" + text.replaceAll("\"", "\"\"") + "\"" : text;
};
const save = (name, text) => {
  const link = make("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = name + ".csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};
