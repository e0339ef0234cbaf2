// The hosts of a cloud as a table, which shows some at a time.

import { h } from "./dom.js";
import { count, percent, whole } from "./format.js";
import { address } from "./state.js";
import { row, table } from "./table.js";

const ROWS = 100; // shown at a time

/** Columns for room: their titles, and the cells of a tile. */
export const ROOM_COLUMNS = {
  caption: "by room for the request",
  titles: ["Room"],
  cells: ({ text }) => [text],
};

/** Return the columns for use of a class. */
export function useColumns(name) {
  return {
    caption: `by use of ${name}`,
    titles: ["Used", "Capacity", "Free", "Largest free piece", "Use"],
    cells: ({ sum, share }) =>
      sum
        ? [...[sum.used, sum.capacity, sum.free, sum.largest].map(whole), percent(share)]
        : ["", "", "", "", "none"],
  };
}

/**
 * Return the table of tiles, the largest share first, and the button that shows more.
 *
 * rows: number of rows that an earlier table showed.
 */
export function hostList(tiles, { caption, titles, cells }, rows = 0) {
  const shown = tiles.filter((tile) => !tile.dimmed);
  shown.sort((a, b) => (b.share ?? -1) - (a.share ?? -1));
  const columns = ["Host", ...titles];
  const list = table("Hosts", columns, [], {
    caption: `${count(shown.length, "host")} ${caption}`,
  });
  const body = list.querySelector("tbody");
  const more = h("button", { type: "button" }, "Show more");
  const add = (number) => {
    const from = body.children.length;
    const next = shown.slice(from, from + number);
    body.append(...next.map((tile) => row(columns, link(tile), cells(tile))));
    more.hidden = body.children.length >= shown.length;
    return body.children[from];
  };
  // The button may be gone, so the focus goes to the first new row.
  more.addEventListener("click", () => add(ROWS).querySelector("a").focus());
  add(Math.max(rows, ROWS));
  return [list, more];
}

function link({ root, name }) {
  return h("a", { href: address("tree", root) }, name);
}
