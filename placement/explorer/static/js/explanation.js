// Why hosts cannot serve a request: the funnel, the first reasons, and possible relaxations.

import { h } from "./dom.js";
import { left, sentenceOf } from "./explanation_words.js";
import { whole } from "./format.js";
import { altered, without } from "./request.js";
import { address } from "./state.js";
import { row, table } from "./table.js";
import { shareBar } from "./totals.js";

/**
 * Return the drawing of an explanation.
 *
 * onTry receives the request of a relaxation; nameOf returns the name of a provider.
 */
export function drawExplanation(explanation, request, { onTry, nameOf }) {
  const { hosts } = explanation;
  return h(
    "section",
    { class: "explanation", "aria-labelledby": "explanation-title" },
    h(
      "h2",
      { id: "explanation-title" },
      hosts.served ? "The hosts that were left out" : "Why no host can serve this",
    ),
    h("p", { class: "text" }, explanation.text),
    hosts.complete ? null : h("p", { class: "note" }, bounded(hosts)),
    relaxations(explanation.relaxations ?? [], request, onTry, hosts.looked),
    funnels(explanation, hosts.looked),
    reasons(explanation.blocked ?? [], hosts.looked, nameOf),
  );
}

function bounded({ looked, all }) {
  const part = `${whole(looked)} of ${whole(all)}`;
  return `Only ${part} hosts were looked at: the limit on work was reached.`;
}

function relaxations(list, request, onTry, all) {
  if (!list.length) return null;
  const items = list.map((each) => relaxation(each, request, onTry, all));
  return h("div", {}, h("h3", {}, "What would help"), h("ul", { class: "relaxations" }, items));
}

function relaxation(each, request, onTry, all) {
  const { drop, reduce, value, to } = each;
  const isTaint = drop === "taints"; // which is no member of a request
  const relaxed = () => {
    if (isTaint) return { ...request, tolerate: [...(request.tolerate ?? []), value] };
    return drop ? without(request, drop) : altered(request, reduce, to);
  };
  return h(
    "li",
    {},
    h("button", { type: "button", onclick: () => onTry(relaxed()) }, "Try"),
    bar(each.hosts, all),
    h("span", {}, sentenceOf(each, request)),
  );
}

function funnels(explanation, all) {
  const drawings = [];
  for (const [suffix, steps] of Object.entries(explanation.groups ?? {})) {
    drawings.push(funnel(suffix ? `Group ${suffix}` : "Unsuffixed group", steps, all));
  }
  const several = drawings.length > 1;
  const together = explanation.together ?? [];
  if (several || together.some(rejects)) {
    const title = several ? "All groups together" : "Group as a whole";
    const first = `hosts with a provider for ${several ? "each" : "the"} group`;
    drawings.push(funnel(title, together, all, first));
  }
  return h("div", { class: "funnels" }, drawings);
}

// Steps that rejected no host say nothing about this request.
function rejects(step) {
  return step.after < step.before;
}

const FUNNEL = ["Hosts", "Share", "Number"];

function funnel(title, steps, all, first = "all hosts") {
  if (!steps.length) return null;
  const total = steps[0].before;
  const heading = h("h3", {}, title);
  if (!total) return h("div", {}, heading, h("p", {}, "No host has a provider for each group."));
  const rows = [
    row(FUNNEL, first, [bar(total, all), whole(total)]),
    ...steps.filter(rejects).map((step) =>
      row(FUNNEL, [left(step), step.detail ? h("small", {}, step.detail) : null], [
        bar(step.after, all, step.before),
        whole(step.after),
      ])
    ),
  ];
  return h("div", {}, heading, table(`Conditions: ${title}`, FUNNEL, rows, { kind: "funnel" }));
}

// A server of an earlier build sends only codes.
function meaning(step) {
  return step.meaning ?? step.code;
}

const REASONS = ["Reason", "Share", "Hosts", "Examples"];

function reasons(list, all, nameOf) {
  if (!list.length) return null;
  const rows = list.map((each) => reason(each, all, nameOf));
  const title = h("h3", {}, "Why hosts cannot serve it: the first condition that fails");
  return h("div", {}, title, table("Reasons", REASONS, rows, { kind: "funnel reasons" }));
}

function reason(each, all, nameOf) {
  const examples = [];
  for (const uuid of each.examples ?? []) {
    if (examples.length) examples.push(", ");
    examples.push(example(uuid, nameOf(uuid)));
  }
  const heading = [
    meaning(each),
    each.group ? ` (group ${each.group})` : "",
    // A cause for each class, trait or the like that left hosts out.
    (each.detail ?? "").split("; ").map((cause) => h("small", {}, cause)),
    h("small", {}, h("code", {}, each.code)),
  ];
  return row(REASONS, heading, [bar(each.hosts, all), whole(each.hosts), examples]);
}

function example(uuid, name) {
  const href = address("tree", uuid);
  return h("a", { class: "example", href, title: uuid, "data-uuid": uuid }, name);
}

function bar(number, all, before = number) {
  return shareBar(all && number / all, all && before / all);
}
