// The hosts of a cloud as a table, which shows some at a time.

import { h } from "./dom.js";
import { saveButtons } from "./exports.js";
import { count, percent } from "./format.js";
import { address } from "./state.js";
import { cells, record, row, table } from "./table.js";
import { SUM_COLUMNS } from "./totals.js";

const ROWS = 100; // shown at a time

/** Columns of a tile that is coloured by room. */
export const ROOM_COLUMNS = [["Room", ({ room }) => room]];

/** Columns of a tile that is coloured by use. */
export const USE_COLUMNS = [
  ...SUM_COLUMNS.map(([title, valueOf]) => [title, ({ sum }) => valueOf(sum)]),
  ["Use", ({ share }) => share, (share) => share === null ? "none" : percent(share)],
];

/**
 * Return the table of tiles, the largest share first, and the buttons that show more and save all.
 *
 * by: what the columns describe. rows: number of rows that an earlier table showed.
 */
export function hostList(page, tiles, columns, { by, rows = 0 }) {
  const shown = tiles.filter((tile) => !tile.dimmed);
  shown.sort((a, b) => (b.share ?? -1) - (a.share ?? -1));
  const titles = ["Host", ...columns.map(([title]) => title)];
  const list = table("Hosts", titles, [], { caption: `${count(shown.length, "host")} by ${by}` });
  const body = list.querySelector("tbody");
  const more = h("button", { type: "button" }, "Show more");
  const add = (number) => {
    const from = body.children.length;
    const next = shown.slice(from, from + number);
    body.append(...next.map((tile) => row(titles, link(tile), cells(columns, tile))));
    more.hidden = body.children.length >= shown.length;
    return body.children[from];
  };
  // The button may be gone, so the focus goes to the first new row.
  more.addEventListener("click", () => add(ROWS).querySelector("a").focus());
  add(Math.max(rows, ROWS));
  const records = () =>
    shown.map((tile) => ({ host: tile.name, uuid: tile.root, by, ...record(columns, tile) }));
  return [list, more, saveButtons(page, "hosts", records)];
}

function link({ root, name }) {
  return h("a", { href: address("tree", root) }, name);
}
