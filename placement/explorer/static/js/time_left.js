// The time until a moment, which counts down as long as it is on the page.

import { h } from "./dom.js";

const SECOND = 1000; // milliseconds

/** Make an element that says how long it is until a moment of the API, such as expires_at. */
export function timeLeft(moment) {
  const end = new Date(/Z|[+-]\d\d:?\d\d$/.test(moment) ? moment : `${moment}Z`);
  const element = h("time", { datetime: end.toISOString(), title: end.toISOString() });
  const write = () => {
    element.textContent = duration(Math.ceil((end - Date.now()) / SECOND));
  };
  const timer = setInterval(() => {
    if (!element.isConnected) clearInterval(timer);
    else if (!document.hidden) write();
  }, SECOND);
  write();
  return element;
}

function duration(seconds) {
  if (seconds <= 0) return "ended";
  const parts = [[Math.floor(seconds / 3600), "h"], [Math.floor(seconds / 60) % 60, "min"], [
    seconds % 60,
    "s",
  ]];
  const from = parts.findIndex(([number]) => number);
  return `${
    parts.slice(from, from + 2).map(([number, unit]) => `${number} ${unit}`).join(" ")
  } left`;
}
