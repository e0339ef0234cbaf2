// Why hosts cannot serve a request: the funnel, the first reasons, and possible relaxations.

import { h, svg } from "./dom.js";
import { count, whole } from "./format.js";
import { altered, without } from "./request.js";
import { address } from "./state.js";

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
  const change = isTaint
    ? ["tolerating ", h("code", {}, value)]
    : drop
    ? ["without ", h("code", {}, drop), value === undefined ? "" : ` (${text(value)})`]
    : ["with ", h("code", {}, reduce), ` = ${whole(to)}`];
  return h(
    "li",
    {},
    h("button", { type: "button", onclick: () => onTry(relaxed()) }, "Try"),
    h("span", {}, change),
    bar(each.hosts, all),
    h("strong", {}, count(each.hosts, "host")),
  );
}

function text(value) {
  if (Array.isArray(value)) return value.map(text).join(" or ");
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
}

function funnels(explanation, all) {
  const drawings = [];
  for (const [suffix, steps] of Object.entries(explanation.groups ?? {})) {
    drawings.push(funnel(suffix ? `Group ${suffix}` : "Group without suffix", steps, all));
  }
  const title = drawings.length > 1 ? "All groups together" : "Group as a whole";
  drawings.push(funnel(title, explanation.together ?? [], all));
  return h("div", { class: "funnels" }, drawings);
}

function funnel(title, steps, all) {
  if (!steps.length) return null;
  const total = steps[0].before;
  const heading = h("h3", {}, title);
  if (!total) return h("div", {}, heading, h("p", {}, "No host has a provider for each group."));
  const rows = [
    left("hosts", null, total, bar(total, all)),
    // Steps that rejected no host say nothing about this request.
    ...steps
      .filter((step) => step.after < step.before)
      .map((step) => {
        const stays = bar(step.after, all, step.before);
        return left(meaning(step), step.detail, step.after, stays);
      }),
  ];
  const columns = ["Condition", "Hosts left", "Number"];
  return h("div", {}, heading, table(`Conditions: ${title}`, columns, rows));
}

function left(words, detail, hosts, drawing) {
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, words, detail ? h("small", {}, detail) : null),
    h("td", {}, drawing),
    h("td", {}, whole(hosts)),
  );
}

// A server of an earlier build sends only codes.
function meaning(step) {
  return step.meaning ?? step.code;
}

function reasons(list, all, nameOf) {
  if (!list.length) return null;
  const rows = list.map((each) => reason(each, all, nameOf));
  const columns = ["Reason", "Share", "Hosts", "Examples"];
  const title = h("h3", {}, "Why hosts cannot serve it");
  return h("div", {}, title, table("Reasons", columns, rows));
}

function reason(each, all, nameOf) {
  const examples = [];
  for (const uuid of each.examples ?? []) {
    if (examples.length) examples.push(", ");
    examples.push(example(uuid, nameOf(uuid)));
  }
  return h(
    "tr",
    {},
    h(
      "th",
      { scope: "row" },
      meaning(each),
      each.group ? ` (group ${each.group})` : "",
      // A cause for each class, trait or the like that left hosts out.
      (each.detail ?? "").split("; ").map((cause) => h("small", {}, cause)),
      h("small", {}, h("code", {}, each.code)),
    ),
    h("td", {}, bar(each.hosts, all)),
    h("td", {}, whole(each.hosts)),
    h("td", {}, examples),
  );
}

function example(uuid, name) {
  const href = address("tree", uuid);
  return h("a", { class: "example", href, title: uuid, "data-uuid": uuid }, name);
}

function table(label, columns, rows) {
  const heads = columns.map((column) => h("th", { scope: "col" }, column));
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "group", "aria-label": label },
    h(
      "table",
      { class: "funnel" },
      h("thead", {}, h("tr", {}, heads)),
      h("tbody", {}, rows),
    ),
  );
}

function bar(number, all, before = null) {
  const width = (value) => (all ? Math.min(value / all, 1) * 100 : 0);
  return svg(
    "svg",
    { class: "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: "free", width: 100, height: 10 }),
    before === null ? null : svg("rect", { class: "before", width: width(before), height: 10 }),
    svg("rect", { class: "used", width: width(number), height: 10 }),
  );
}
