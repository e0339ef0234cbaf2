// Sums by class, as a table with bars.

import { share } from "./capacity.js";
import { h, svg } from "./dom.js";
import { percent, whole } from "./format.js";
import { row, table } from "./table.js";

const COLUMNS = ["Class", "Capacity", "Used", "Free", "Largest free piece", "Use"];

/** Return a table of class -> sum. */
export function totalsTable(sums) {
  const rows = [...sums].sort(([, a], [, b]) => b.providers - a.providers);
  const line = ([name, sum]) =>
    row(COLUMNS, name, [
      ...[sum.capacity, sum.used, sum.free, sum.largest].map(whole),
      [shareBar(share(sum)), h("span", { class: "share" }, percent(share(sum)))],
    ]);
  return table("Totals by class", COLUMNS, rows.map(line));
}

/** Return a bar that is as full as a share says. */
export function shareBar(used) {
  const width = Math.min(Math.max(used, 0), 1) * 100;
  return svg(
    "svg",
    { class: "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: "free", width: 100, height: 10 }),
    svg("rect", { class: used > 1 ? "over" : "used", width, height: 10 }),
  );
}
