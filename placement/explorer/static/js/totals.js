// Sums by class, as a table with bars.

import { share } from "./capacity.js";
import { h, svg } from "./dom.js";
import { saveButtons } from "./exports.js";
import { percent } from "./format.js";
import { cells, record, row, table } from "./table.js";

/** Columns of a sum of inventories, but for its share. */
export const SUM_COLUMNS = [
  ["Capacity", (sum) => sum?.capacity],
  ["Used", (sum) => sum?.used],
  ["Free", (sum) => sum?.free],
  ["Largest free piece", (sum) => sum?.largest],
];
const COLUMNS = [...SUM_COLUMNS, ["Use", share, shareCell]];
const TITLES = ["Class", ...COLUMNS.map(([title]) => title)];

/** Return a table of class -> sum, and the buttons that save it. */
export function totalsTable(page, sums) {
  const rows = [...sums].sort(([, a], [, b]) => b.providers - a.providers);
  const records = () => rows.map(([name, sum]) => ({ class: name, ...record(COLUMNS, sum) }));
  const lines = rows.map(([name, sum]) => row(TITLES, name, cells(COLUMNS, sum)));
  return [table("Totals by class", TITLES, lines), saveButtons(page, "totals", records)];
}

function shareCell(used) {
  return [shareBar(used), h("span", { class: "share" }, percent(used))];
}

/** Return a bar that is as full as a share says; beyond: a larger share, in a lighter colour. */
export function shareBar(used, beyond = null) {
  const width = (share) => Math.min(Math.max(share, 0), 1) * 100;
  return svg(
    "svg",
    { class: "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: "free", width: 100, height: 10 }),
    beyond === null ? null : svg("rect", { class: "beyond", width: width(beyond), height: 10 }),
    svg("rect", { class: used > 1 ? "over" : "used", width: width(used), height: 10 }),
  );
}
