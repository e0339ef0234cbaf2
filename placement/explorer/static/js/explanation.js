// Why hosts cannot serve a request: the funnel, the first reasons, and what could be given up.

import { h, svg } from "./dom.js";
import { count, whole } from "./format.js";
import { altered, without } from "./request.js";
import { address } from "./state.js";

/**
 * Return the drawing of an explanation.
 *
 * onTry is told the request that a relaxation makes; nameOf returns the name of a provider.
 */
export function drawExplanation(explanation, request, { onTry, nameOf }) {
  const { hosts } = explanation;
  return h("section", { class: "explanation", "aria-labelledby": "explanation-title" },
    h("h2", { id: "explanation-title" }, hosts.served ? "The hosts that were left out" : "Why no host can serve this"),
    h("p", { class: "text" }, explanation.text),
    hosts.complete ? null : h("p", { class: "note" }, `Only ${whole(hosts.looked)} of ${whole(hosts.all)} hosts were looked at: the bound on work was reached.`),
    relaxations(explanation.relaxations ?? [], request, onTry, hosts.looked),
    funnels(explanation, hosts.looked),
    reasons(explanation.blocked ?? [], hosts.looked, nameOf));
}

function relaxations(list, request, onTry, all) {
  if (!list.length) return null;
  return h("div", {}, h("h3", {}, "What would help"), h("ul", { class: "relaxations" }, list.map((each) => h("li", {},
    h("button", { type: "button", onclick: () => onTry(each.drop ? without(request, each.drop) : altered(request, each.reduce, each.to)) }, "Try"),
    h("span", {}, each.drop ? ["without ", h("code", {}, each.drop), each.value === undefined ? "" : ` (${text(each.value)})`] : ["with ", h("code", {}, each.reduce), ` = ${whole(each.to)}`]),
    bar(each.hosts, all), h("strong", {}, count(each.hosts, "host"))))));
}

function text(value) {
  if (Array.isArray(value)) return value.map(text).join(" or ");
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
}

function funnels(explanation, all) {
  const groups = Object.entries(explanation.groups ?? {}).map(([suffix, steps]) => [suffix ? `Group ${suffix}` : "Any provider of the tree", steps]);
  const together = explanation.together?.length ? [["All together", explanation.together]] : [];
  return h("div", { class: "funnels" }, [...groups, ...together].filter(([, steps]) => steps.length).map(([title, steps]) => h("div", {}, h("h3", {}, title),
    scrolled("Conditions", h("thead", {}, h("tr", {}, ["Condition", "Hosts left", "Number"].map((column) => h("th", { scope: "col" }, column)))),
      h("tbody", {}, steps.map((step) => h("tr", { class: step.after < step.before ? "narrows" : null },
        h("th", { scope: "row" }, h("code", {}, step.code), h("small", {}, step.detail)),
        h("td", {}, bar(step.after, all, step.before)),
        h("td", {}, whole(step.after)))))))));
}

function reasons(list, all, nameOf) {
  if (!list.length) return null;
  return h("div", {}, h("h3", {}, "The first reason of each host"), scrolled("Reasons",
    h("thead", {}, h("tr", {}, ["Reason", "Share", "Hosts", "Examples"].map((column) => h("th", { scope: "col" }, column)))),
    h("tbody", {}, list.map((each) => h("tr", {},
      h("th", { scope: "row" }, h("code", {}, each.code), each.group ? ` ${each.group}` : "", h("small", {}, each.detail)),
      h("td", {}, bar(each.hosts, all)), h("td", {}, whole(each.hosts)),
      h("td", {}, (each.examples ?? []).map((uuid, index) => [index ? ", " : "", h("a", { class: "example", href: address("tree", uuid), title: uuid, "data-uuid": uuid }, nameOf(uuid))])))))));
}

function scrolled(label, ...parts) {
  return h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": label }, h("table", { class: "funnel" }, parts));
}

function bar(number, all, before = null) {
  const width = (value) => (all ? Math.min(value / all, 1) * 100 : 0);
  return svg("svg", { class: "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: "free", width: 100, height: 10 }),
    before === null ? null : svg("rect", { class: "before", width: width(before), height: 10 }),
    svg("rect", { class: "used", width: width(number), height: 10 }));
}
