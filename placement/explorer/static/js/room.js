// How many more of a request fit: in the cloud, and on each host.

import { h } from "./dom.js";
import { count, whole } from "./format.js";
import { address } from "./state.js";

const NAME = "asked"; // of the request, in a body of POST /headroom
const AT_ONCE = 100; // hosts in one body
const REASONS = 3; // shown
const HOST_CLASSES = ["VCPU", "PCPU", "MEMORY_MB"];
const SHARING = "MISC_SHARES_VIA_AGGREGATE";

/** Return what POST /headroom says of a request.  Throws ApiError. */
export async function roomFor(page, request) {
  const { api, signal } = page;
  const body = { requests: { [NAME]: withoutPreferences(request) } };
  return (await api.post("headroom", body, { signal })).headroom[NAME];
}

/**
 * Learn how many of a request each host takes.
 *
 * trees: root -> providers. onSome receives a Map of root -> number, more complete with each call.
 * Throws ApiError.
 */
export async function roomOfHosts(page, request, trees, onSome) {
  const { api, signal } = page;
  const isPool = (root) => isStorage(trees.get(root));
  const roots = [...trees.keys()].filter((root) => !isPool(root));
  const numbers = new Map([...trees.keys()].filter(isPool).map((root) => [root, 0]));
  // A sharing provider of a host also serves others, whose room is not that of the host.
  const own = { forbidden: [SHARING] };
  for (let from = 0; from < roots.length; from += AT_ONCE) {
    const some = roots.slice(from, from + AT_ONCE);
    const requests = Object.fromEntries(some.map((root) => [root, within(request, root, own)]));
    const { headroom } = await api.post("headroom", { requests }, { signal });
    for (const [root, room] of Object.entries(headroom)) numbers.set(root, room.fits);
    onSome(numbers);
  }
}

/**
 * Return why a host would not serve a request if it were empty; null if it would.
 *
 * Throws ApiError.
 */
export async function refusalOfEmptyHost(page, request, root) {
  const { api, signal } = page;
  const body = { requests: { [NAME]: within(request, root) }, empty: true };
  const { fits, limited_by: reasons } =
    (await api.post("headroom", body, { signal })).headroom[NAME];
  return fits ? null : reasons.find((each) => each.hosts)?.meaning ?? "";
}

/** Return a request without the members that decide nothing about room. */
export function withoutPreferences(request) {
  const rest = { ...request };
  for (const member of ["limit", "order", "explain"]) delete rest[member];
  return rest;
}

/** Return whether a tree has a provider that serves other trees. */
export function shares(providers) {
  return providers.some(isSharing);
}

/** Return whether the providers of a tree only share resources, so that the tree is no host. */
function isStorage(providers) {
  const isOfHost = ({ name }) => HOST_CLASSES.includes(name);
  return shares(providers) &&
    providers.every((each) =>
      !each.stocks.length || (isSharing(each) && !each.stocks.some(isOfHost))
    );
}

function isSharing(provider) {
  return provider.traits.includes(SHARING);
}

// A group without resources pins the host, so that sharing providers can still serve the others.
function within(request, root, conditions = {}) {
  const copy = structuredClone(withoutPreferences(request));
  const suffix = unused("_HOST", copy.groups);
  copy.groups[suffix] = { in_tree: root, ...conditions };
  copy.same_subtree = [...(copy.same_subtree ?? []), { of: [suffix], not: [] }];
  return copy;
}

function unused(suffix, groups) {
  return suffix in groups ? unused(`${suffix}_`, groups) : suffix;
}

/** Return the sentence about room, with what limits it. */
export function drawRoom(room, request) {
  const { fits, at_most: most, complete, hosts } = room;
  const atLeast = most === null ? `at least ${whole(fits)}` : `${whole(fits)} to ${whole(most)}`;
  const number = fits === most ? whole(fits) : atLeast;
  // If other hosts serve the request, a host without inventory of the class is no bottleneck.
  const limiting = room.limited_by.filter((each) => !hosts || each.code !== "no_inventory");
  const limits = limiting.slice(0, REASONS).map(limit);
  return h(
    "p",
    { class: "room" },
    h("strong", {}, `Room for ${number} more`),
    hosts ? ` on ${count(hosts, "host")}, at most ${whole(room.largest)} on one` : "",
    limits.length ? `; limited by ${limits.join(", ")}. ` : ". ",
    complete ? null : "Not all hosts were looked at: the limit on work was reached. ",
    h("a", { href: address("cloud", "", { request: JSON.stringify(request) }) }, "Show on the map"),
  );
}

function limit({ code, resource_class: name, group, meaning, hosts }) {
  const where = group ? ` (group ${group})` : "";
  const what = code === "capacity" || !name
    ? name
    : code === "no_inventory"
    ? `no inventory of ${name}`
    : `${name} (${code})`;
  return `${what ?? meaning.replace(/\.$/, "")}${where} on ${count(hosts, "host")}`;
}
