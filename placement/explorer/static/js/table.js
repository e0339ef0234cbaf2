// Tables: the cells of a row are beside each other, on a narrow screen below its heading.

import { h } from "./dom.js";
import { whole } from "./format.js";

/**
 * Return a table that scrolls if it is wider than the page.
 *
 * label: name of the table for screen readers. titles: of all columns, the first that of the rows'
 * headings. rows: made by `row`. kind: class of the element.
 */
export function table(label, titles, rows, { caption = null, kind = null } = {}) {
  const heads = titles.map((title) => h("th", { scope: "col" }, title));
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "group", "aria-label": label },
    h(
      "table",
      { class: kind },
      caption === null ? null : h("caption", {}, caption),
      h("thead", {}, h("tr", {}, heads)),
      h("tbody", {}, rows),
    ),
  );
}

/** Return a row of a heading and cells; a narrow screen shows the title of a column in its cell. */
export function row([, ...titles], heading, cells) {
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, heading),
    cells.map((cell, index) => h("td", { "data-title": titles[index] }, cell)),
  );
}

/**
 * Return the texts of an item in columns, and with `record`, its values by titles, for files.
 *
 * columns: [title, function that returns the value of an item, function that writes a value].
 */
export function cells(columns, item) {
  return columns.map(([, valueOf, write = number]) => write(valueOf(item)));
}

/** Return the values of an item in columns. */
export function record(columns, item) {
  const key = (title) => title.toLowerCase().replaceAll(" ", "_");
  return Object.fromEntries(columns.map(([title, valueOf]) => [key(title), valueOf(item) ?? null]));
}

function number(value) {
  return value === undefined ? "" : whole(value);
}
