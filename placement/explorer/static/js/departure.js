// What happens to the consumers of a host that goes: a simulation, of which nothing is stored.

import { announce, fill, h } from "./dom.js";
import { count } from "./format.js";
import { address } from "./state.js";

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

function drawPlan({ moves, unplaceable, undecided }, title, page) {
  return [
    h("h2", {}, title),
    undecided.length
      ? h("p", { class: "note" }, "The limit on work was reached before all consumers were tried.")
      : null,
    unplaceable.length
      ? table(
        "Cannot move",
        ["Consumer", "Why"],
        unplaceable.map(({ consumer, code, text }) => [
          link(consumer),
          [text, " ", h("small", {}, code)],
        ]),
      )
      : null,
    moves.length
      ? table(
        "Would move",
        ["Consumer", "To", "Searched"],
        moves.map(({ consumer, to, request }) => [
          link(consumer),
          to.map((uuid, index) => [index ? ", " : "", host(page, uuid)]),
          REQUESTS[request],
        ]),
      )
      : null,
  ];
}

function table(caption, titles, rows) {
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "group", "aria-label": caption },
    h(
      "table",
      { class: "consumer-list" },
      h("caption", {}, `${caption}: ${rows.length}`),
      h("thead", {}, h("tr", {}, titles.map((title) => h("th", { scope: "col" }, title)))),
      h(
        "tbody",
        {},
        rows.map(([first, ...others]) =>
          h("tr", {}, h("th", { scope: "row" }, first), others.map((cell) => h("td", {}, cell)))
        ),
      ),
    ),
  );
}

function link(consumer) {
  return h("a", { href: address("consumer", consumer) }, h("code", {}, consumer));
}

function host(page, uuid) {
  return h("a", { href: address("tree", uuid), "data-uuid": uuid }, page.nameOf(uuid));
}
