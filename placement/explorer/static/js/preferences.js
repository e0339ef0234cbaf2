// The part of the form that sorts hosts and tolerates taints.

import { fill, h, redraw } from "./dom.js";
import { tokens } from "./tokens.js";

/** Kind of a key -> its label, the member with its name, what completes that, and its two ends. */
const KINDS = {
  free: {
    label: "free amount of",
    member: "resource_class",
    options: "classes",
    ends: [["most", "most first"], ["least", "least first"]],
  },
  trait: {
    label: "trait",
    member: "name",
    options: "traits",
    ends: [["with", "with it first"], ["without", "without it first"]],
  },
  aggregate: {
    label: "aggregate",
    member: "uuid",
    options: null,
    ends: [["with", "in it first"], ["without", "outside first"]],
  },
};

/** Make the part for a request, which it edits; onChange is called after each change. */
export function preferences(request, onChange) {
  const keys = h("div", { class: "keys", role: "group", "aria-label": "Order of hosts" });
  const draw = () =>
    fill(
      keys,
      (request.order ?? []).map((key) => keyRow(request, key, { onChange, redrawn })),
      h("button", {
        type: "button",
        class: "quiet",
        onclick: () => {
          (request.order ??= []).push({ by: "free", resource_class: "", first: "most" });
          draw();
          keys.querySelector(".resource:last-of-type input")?.focus();
        },
      }, "Sort hosts by…"),
    );
  const redrawn = () => redraw(keys, draw);
  draw();
  return h(
    "details",
    { open: Boolean(request.order?.length || request.tolerate?.length) },
    h("summary", {}, "Order and taints"),
    keys,
    tokens("Tolerated taints", request.tolerate ?? [], {
      options: "traits",
      onChange: (names) => {
        request.tolerate = names;
        onChange();
      },
    }),
  );
}

/** Return a request without the keys that have no name yet. */
export function withCompleteKeys(request) {
  const order = request.order?.filter((key) => key[KINDS[key.by].member]);
  if (order?.length) return { ...request, order };
  const rest = { ...request };
  delete rest.order;
  return rest;
}

function keyRow(request, key, { onChange, redrawn }) {
  const index = request.order.indexOf(key);
  const { member, options, ends } = KINDS[key.by];
  const number = `Key ${index + 1}`;
  const replace = (other) => {
    request.order[index] = other;
    redrawn();
    onChange();
  };
  return h(
    "div",
    { class: "resource" },
    choice(
      `${number}: sort by`,
      key.by,
      Object.entries(KINDS).map(([by, { label }]) => [by, label]),
      (by) => replace({ by, [KINDS[by].member]: "", first: KINDS[by].ends[0][0] }),
    ),
    h("input", {
      value: key[member] ?? "",
      list: options,
      size: 22,
      spellcheck: "false",
      "aria-label": `${number}: name`,
      onchange: (event) => {
        key[member] = event.target.value.trim();
        onChange();
      },
    }),
    choice(`${number}: which first`, key.first, ends, (first) => replace({ ...key, first })),
    h("button", {
      type: "button",
      class: "quiet",
      "aria-label": `Remove key ${index + 1}`,
      onclick: () => {
        request.order.splice(index, 1);
        redrawn();
        onChange();
      },
    }, "×"),
  );
}

function choice(label, chosen, options, onChoose) {
  return h(
    "select",
    { "aria-label": label, onchange: (event) => onChoose(event.target.value) },
    options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)),
  );
}
