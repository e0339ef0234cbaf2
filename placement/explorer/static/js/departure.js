// What happens to the consumers of a host that goes: a simulation, of which nothing is stored.

import { nothing, share } from "./capacity.js";
import { announce, copyButton, fill, h } from "./dom.js";
import { count, percent } from "./format.js";
import { address } from "./state.js";
import { row, table } from "./table.js";
import { shareBar } from "./totals.js";

/** Make the part of a host's page that simulates its departure, at the press of a button. */
export function departure(page, root) {
  const outcome = h("div", { "aria-live": "polite" });
  const simulate = async () => {
    fill(outcome, h("p", { class: "state" }, h("progress"), " Looking for other hosts…"));
    const { api, cloud, signal } = page;
    await cloud.load(api, { signal });
    const name = cloud.mostUsed();
    const body = { changes: [{ drain: [root] }] };
    if (name) body.order = [{ by: "free", resource_class: name, first: "most" }];
    const plan = await api.post("simulations", body, { signal });
    const held = await api.get(`allocations?in_tree=${root}`, { signal });
    const title = titleOf(plan);
    announce(title);
    fill(
      outcome,
      h("h2", {}, title),
      h(
        "p",
        { class: "note" },
        name
          ? `Each consumer, the largest first, goes to the host with the most free ${name}. `
          : "",
        "Nothing is changed. ",
        copyButton("Copy as curl", () => api.curl({ method: "POST", path: "simulations", body })),
      ),
      drawPlan(plan, takers(plan.moves, held.allocations, cloud), page),
    );
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

/** Return the hosts that take consumers, as {root, fills, moves}, the emptiest first. */
function takers(moves, held, cloud) {
  const hosts = new Map();
  for (const move of moves) {
    const gains = gainsOf(move.body.allocations, held[move.consumer]?.allocations ?? {}, cloud);
    for (const [root, amounts] of gains) {
      if (!hosts.has(root)) hosts.set(root, { root, amounts: {}, moves: [] });
      const host = hosts.get(root);
      for (const [name, units] of Object.entries(amounts)) add(host.amounts, name, units);
      if (Object.values(amounts).some((units) => units > 0)) host.moves.push(move);
    }
  }
  return [...hosts.values()].filter((host) => host.moves.length).map((host) => {
    const fills = Object.entries(host.amounts).map(([name, units]) => {
      const sum = cloud.sum(host.root, name) ?? nothing();
      return { name, before: share(sum), after: share({ ...sum, used: sum.used + units }) };
    });
    return { ...host, fills, fullest: Math.max(...fills.map(({ after }) => after)) };
  }).sort((one, other) => one.fullest - other.fullest);
}

/** Return root -> class -> units that a consumer will hold there, less those that it holds. */
function gainsOf(after, before, cloud) {
  const gains = new Map();
  for (const [sign, allocations] of [[1, after], [-1, before]]) {
    for (const [uuid, { resources }] of Object.entries(allocations)) {
      const root = cloud.known.get(uuid)?.root ?? uuid;
      if (!gains.has(root)) gains.set(root, {});
      for (const [name, units] of Object.entries(resources)) {
        add(gains.get(root), name, sign * units);
      }
    }
  }
  return gains;
}

function add(amounts, name, units) {
  amounts[name] = (amounts[name] ?? 0) + units;
}

const STUCK = ["Consumer", "Why"];
const TAKING = ["Host", "Use afterwards", "Consumers"];

function drawPlan({ unplaceable, undecided }, hosts, page) {
  const stuck = unplaceable.map(({ consumer, code, text }) =>
    row(STUCK, link(consumer), [[text, " ", h("small", {}, code)]])
  );
  const taking = hosts.map(({ root, fills, moves }) =>
    row(TAKING, h("a", { href: address("tree", root) }, page.nameOf(root)), [
      fills.map(fillOf),
      moves.map(({ consumer, request }) =>
        h(
          "div",
          {},
          link(consumer),
          request === "remembered" ? h("small", {}, " as it was claimed") : null,
        )
      ),
    ])
  );
  return [
    undecided.length
      ? h("p", { class: "note" }, "The limit on work was reached before all consumers were tried.")
      : null,
    listed("Consumers that cannot move", STUCK, stuck),
    listed("Hosts that would take consumers", TAKING, taking),
  ];
}

function listed(label, titles, rows) {
  if (!rows.length) return null;
  return table(label, titles, rows, { caption: `${label}: ${rows.length}`, kind: "texts" });
}

function link(consumer) {
  return h("a", { href: address("consumer", consumer) }, h("code", {}, consumer));
}

function fillOf({ name, before, after }) {
  return h(
    "div",
    { class: "fill" },
    shareBar(before, after),
    h("span", { class: "share" }, `${percent(before)} → ${percent(after)}`),
    h("span", {}, name),
  );
}
