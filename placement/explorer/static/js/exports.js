// Lists as files: CSV for spreadsheets, JSON for programs.

import { h } from "./dom.js";

const FREE_AFTER = 60_000; // milliseconds

/**
 * Make the buttons that save a list.
 *
 * name: of the file. rows: function that returns flat objects, or a promise of them.
 */
export function saveButtons(page, name, rows) {
  const button = (kind, type, write) => {
    const onclick = () =>
      page.run(async () => save(`${name}.${kind}`, new Blob([write(await rows())], { type })));
    return h(
      "button",
      { type: "button", class: "quiet", onclick },
      `Save as ${kind.toUpperCase()}`,
    );
  };
  return h(
    "p",
    { class: "save" },
    button("csv", "text/csv", csv),
    button("json", "application/json", (list) => JSON.stringify(list, null, 2)),
  );
}

/** Return objects as CSV, with a column for each member of any of them. */
export function csv(list) {
  const titles = [...new Set(list.flatMap(Object.keys))];
  const lines = [titles, ...list.map((each) => titles.map((title) => each[title]))];
  return lines.map((line) => `${line.map(cell).join(",")}\r\n`).join("");
}

// A spreadsheet would take a name that begins like a formula for one.
function cell(value) {
  const text = typeof value === "string" ? value.replace(/^[=+@\t\r-]/, "'$&") : `${value ?? ""}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function save(name, blob) {
  const href = URL.createObjectURL(blob);
  h("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), FREE_AFTER); // the browser reads it after the click
}
