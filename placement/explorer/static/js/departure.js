// What happens to the consumers of a host that goes: a simulation, of which nothing is stored.

import { announce, fill, h } from "./dom.js";
import { count } from "./format.js";
import { address } from "./state.js";
import { row, table } from "./table.js";

const REQUESTS = {
  given: "as given",
  remembered: "as it was claimed",
  derived: "with the amounts that it holds",
};

/** Make the part of a host's page that simulates its departure, at the press of a button. */
export function departure(page, root) {
  const outcome = h("div", { "aria-live": "polite" });
  const simulate = async () => {
    fill(outcome, h("p", { class: "state" }, h("progress"), " Looking for other hosts…"));
    const plan = await page.api.post("simulations", { changes: [{ drain: [root] }] }, {
      signal: page.signal,
    });
    const title = titleOf(plan);
    announce(title);
    fill(outcome, drawPlan(plan, title, page));
    await page.learnNames(outcome);
  };
  return h(
    "section",
    { class: "departure" },
    h("button", { type: "button", onclick: () => page.run(simulate) }, "What if this host goes?"),
    outcome,
  );
}

function titleOf({ fits, moves, unplaceable, undecided }) {
  if (!moves.length && !unplaceable.length && !undecided.length) {
    return "Nothing would have to move";
  }
  if (fits) return `${count(moves.length, "consumer")} can move`;
  if (fits === null) return `${count(undecided.length, "consumer")} undecided`;
  return `${count(unplaceable.length, "consumer")} cannot move`;
}

const STUCK = ["Consumer", "Why"];
const MOVING = ["Consumer", "To", "Searched"];

function drawPlan({ moves, unplaceable, undecided }, title, page) {
  const stuck = unplaceable.map(({ consumer, code, text }) =>
    row(STUCK, link(consumer), [[text, " ", h("small", {}, code)]])
  );
  const moving = moves.map(({ consumer, to, request }) =>
    row(MOVING, link(consumer), [
      to.map((uuid, index) => [index ? ", " : "", host(page, uuid)]),
      REQUESTS[request],
    ])
  );
  return [
    h("h2", {}, title),
    undecided.length
      ? h("p", { class: "note" }, "The limit on work was reached before all consumers were tried.")
      : null,
    consumers("Cannot move", STUCK, stuck),
    consumers("Would move", MOVING, moving),
  ];
}

function consumers(label, titles, rows) {
  if (!rows.length) return null;
  return table(label, titles, rows, { caption: `${label}: ${rows.length}`, kind: "texts" });
}

function link(consumer) {
  return h("a", { href: address("consumer", consumer) }, h("code", {}, consumer));
}

function host(page, uuid) {
  return h("a", { href: address("tree", uuid), "data-uuid": uuid }, page.nameOf(uuid));
}
