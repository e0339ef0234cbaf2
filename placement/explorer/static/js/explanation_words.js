// The words of explanations: which hosts a condition leaves, and what a relaxation would do.

import { count } from "./format.js";

// Code of a condition -> the hosts that satisfy it. A response states only what others lack.
const LEFT = {
  unknown_aggregate: "with aggregates that exist",
  unknown_tree: "with a provider that exists",
  tainted: "whose taints the request tolerates",
  root_trait_missing: "whose root has the required traits",
  root_trait_forbidden: "whose root has no forbidden trait",
  root_aggregate: "whose root is in the right aggregates",
  no_inventory: "with inventory of every class",
  min_unit: "whose min_unit allows the amount",
  max_unit: "whose max_unit allows the amount",
  step_size: "whose step_size allows the amount",
  capacity: "with that much left",
  trait_missing: "with the required traits",
  trait_forbidden: "without a forbidden trait",
  not_in_aggregate: "in the aggregates",
  in_forbidden_aggregate: "in no forbidden aggregate",
  in_tree: "in the tree",
  subtree: "in the subtree",
  collective_traits: "with all required traits between their providers",
  capacity_sum: "with room for all amounts together",
  one_per_tree: "that serve with one provider of each tree",
  isolate: "with enough providers to keep groups apart",
  same_subtree: "with a subtree that serves the groups together",
  spread: "with room for a member of the spread group",
  exclusive: "with devices that do not serve in another way",
  budget: "decided within the limit on work",
  elsewhere: "with a provider of their own that serves",
};

/** Return which hosts a condition leaves; a later service may send a code unknown here. */
export function left({ code, meaning }) {
  return LEFT[code] ?? `after the condition ${code}${meaning ? ` (${meaning})` : ""}`;
}

const PATH = /^(?:(groups)(?:\[""\]|\.([\w-]+))\.|(root)\.)?(\w+)(?:\.(\w+)|\[\d+\])?$/;

// Member of a request -> the words that follow "Without", for a value in words.
const DROPPED = {
  required: (value) => `requiring ${noun("trait", value)}`,
  forbidden: (value) => `forbidding ${noun("trait", value)}`,
  member_of: (value) => `requiring ${noun("aggregate", value)}`,
  not_member_of: (value) => `forbidding ${noun("aggregate", value)}`,
  taints: (value) => `the taint ${value}`,
  isolate: (value) => `isolating ${value}`,
  group_policy: (value) => `group_policy=${value}`,
  same_subtree: ({ of, not = [] }) =>
    `same_subtree=${[...of, ...not.map((suffix) => `!${suffix}`)].join(",")}`,
};

/** Return the sentence about a relaxation, as the text of an explanation states it. */
export function sentenceOf({ drop, reduce, value, to, hosts }, request) {
  const outcome = `${count(hosts, "host")} would serve.`;
  const [, ofGroup, suffix, root, member, name] = PATH.exec(drop ?? reduce) ?? [];
  let where = root ? " for the root" : "";
  if (ofGroup && Object.keys(request.groups).length > 1) {
    where = suffix ? ` for group ${suffix}` : " for the unsuffixed group";
  }
  if (reduce) return `With ${to} ${name}${where}, ${outcome}`;
  const dropped = DROPPED[member]?.(value) ?? `${member ?? drop} ${value}`;
  return `Without ${dropped}${where}, ${outcome}`;
}

const LONGEST = 5; // names in a list

function noun(kind, value) {
  if (!Array.isArray(value)) return `${kind} ${value}`;
  const more = value.length > LONGEST ? [`${value.length - LONGEST} more`] : [];
  return `any of the ${kind}s ${[...value.slice(0, LONGEST), ...more].join(", ")}`;
}
