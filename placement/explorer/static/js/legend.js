// What the colours of the map mean.

import * as colours from "./colours.js";
import { h } from "./dom.js";
import { count, percent, whole } from "./format.js";

function swatch(colour, text) {
  const box = h("i", { class: "swatch", "aria-hidden": "true" });
  box.style.background = colour;
  return h("span", {}, box, text);
}

/**
 * Return the legend of room for a request.
 *
 * room: root -> number, of the hosts measured so far. largest: the most that a host takes. all:
 * number of hosts.
 */
export function roomLegend(room, largest, all) {
  if (!room.size) return [h("p", { class: "state" }, h("progress"), " Measuring room…")];
  const { used } = colours.scale();
  const without = [...room.values()].filter((number) => number === 0).length;
  return [
    swatch(used[0], `${count(without, "host")} without room for the request`),
    swatch(used[10], `room for ${whole(largest)}`),
    room.size < all ? h("span", {}, `${whole(room.size)} of ${count(all, "host")} measured`) : null,
  ];
}

/** Return the legend of use of a class; top: as in `scale`. */
export function legend(name, tiles, top) {
  const { used, over } = colours.scale();
  const none = tiles.filter((tile) => tile.share === null).length;
  const overfull = tiles.filter((tile) => tile.share > 1).length;
  return [
    swatch(used[0], "0%"),
    [3, 6, 9].map((step) => swatch(used[step], `to ${percent(Math.min(top * step / 9, 0.99))}`)),
    top < 1 ? null : swatch(used[10], "full"),
    overfull ? swatch(over, `${count(overfull, "host")} over capacity`) : null,
    none
      ? h(
        "span",
        {},
        h("i", { class: "swatch none", "aria-hidden": "true" }),
        `${count(none, "host")} without ${name}`,
      )
      : null,
  ];
}
