// Conversion of a request between JSON, which the page works on, query strings and flavors.

/** The conditions on a group, and whether they take a suffix in a query. */
const GROUP_TERMS = {
  resources: (group, value) => {
    group.resources = amounts(value);
  },
  required: (group, value) => readTraits(group, value),
  member_of: (group, value) => readAggregates(group, value),
  in_tree: (group, value) => {
    group.in_tree = value;
  },
  subtree: (group, value) => {
    group.subtree = value;
  },
};

const REQUEST_TERMS = {
  same_subtree: (request, value) => readRule(request, value),
  isolate: (request, value) => {
    request.isolate = [...new Set([...(request.isolate ?? []), ...list(value)])];
  },
  group_policy: (request, value) => {
    request.group_policy = value;
  },
  tolerate: (request, value) => {
    request.tolerate = [...(request.tolerate ?? []), ...list(value)];
  },
  limit: (request, value) => {
    request.limit = amount("limit", value);
  },
  root_required: (request, value) => readTraits(request.root ??= {}, value),
  root_member_of: (request, value) => readAggregates(request.root ??= {}, value),
  can_split: (request, value) => {
    group(request, "").can_split = list(value);
  },
};

/** The reason why a text is not a valid request. */
export class RequestError extends Error {}

/** Read a request in any of the three forms.  Throws RequestError. */
export function parse(text) {
  const stripped = text.trim();
  if (stripped.startsWith("{")) return fromJson(stripped);
  if (/(^|[\s,'"])((resources|trait)[\w-]*:\w+|vcpus|ram|disk)\s*=/.test(stripped)) {
    return fromFlavor(stripped);
  }
  return fromQuery(stripped);
}

function fromJson(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new RequestError(`This is not JSON: ${error.message}`);
  }
  const request = value.request ?? value;
  if (!isObject(request.groups)) throw new RequestError("A request has a member “groups”.");
  for (const [suffix, terms] of Object.entries(request.groups)) {
    checkKinds(`groups.${suffix || '""'}`, terms, GROUP_KINDS);
  }
  checkKinds("root", request.root ?? {}, GROUP_KINDS);
  checkKinds("request", request, REQUEST_KINDS);
  delete request.explain;
  return request;
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isText = (value) => typeof value === "string";
const isNames = (value) => Array.isArray(value) && value.every(isText);
const isTerms = (value) =>
  Array.isArray(value) && value.every((each) => isText(each) || isNames(each));
const isAmounts = (value) => isObject(value) && Object.values(value).every(Number.isInteger);
const isRule = (value) => isObject(value) && isNames(value.of) && isNames(value.not ?? []);
const isRules = (value) => Array.isArray(value) && value.every(isRule);
// A key of each kind has the member with its name.
const NAMED_BY = { free: "resource_class", trait: "name", aggregate: "uuid" };
const isKey = (value) =>
  isObject(value) && Object.hasOwn(NAMED_BY, value.by) && isText(value[NAMED_BY[value.by]]);
const isOrder = (value) => Array.isArray(value) && value.every(isKey);

// Members that the form can show; only the service validates the request.
const GROUP_KINDS = {
  resources: isAmounts,
  required: isTerms,
  forbidden: isNames,
  member_of: isTerms,
  not_member_of: isNames,
  in_tree: isText,
  subtree: isText,
  can_split: isNames,
};
const REQUEST_KINDS = {
  isolate: isNames,
  same_subtree: isRules,
  group_policy: isText,
  tolerate: isNames,
  order: isOrder,
  limit: Number.isInteger,
};

function checkKinds(path, terms, kinds) {
  if (!isObject(terms)) throw new RequestError(`${path} is not an object.`);
  for (const [member, isKind] of Object.entries(kinds)) {
    if (Object.hasOwn(terms, member) && !isKind(terms[member])) {
      throw new RequestError(`${path}.${member} has a value of the wrong type.`);
    }
  }
}

/** Read a query string, also behind the path of an address. */
function fromQuery(text) {
  const query = text.slice(text.indexOf("?") + 1).replace(/['"\s].*$/s, "");
  const request = { groups: Object.create(null) };
  for (const [key, value] of new URLSearchParams(query)) readTerm(request, key, value);
  if (!Object.keys(request.groups).length) {
    throw new RequestError("The request has no group with resources. Begin with resources=VCPU:1.");
  }
  return request;
}

function readTerm(request, key, value) {
  if (key === "explain") return;
  if (Object.hasOwn(REQUEST_TERMS, key)) return REQUEST_TERMS[key](request, value);
  const [, term, suffix] = /^(resources|required|member_of|in_tree|subtree)(.*)$/.exec(key) ?? [];
  if (!term) throw new RequestError(`${key} is not a parameter of a request.`);
  return GROUP_TERMS[term](group(request, suffix), value);
}

const BETWEEN_PROPERTIES = /\n+|[,\s]+(?=['"]?[\w.-]+(?::\w+)?\s*=)/;
const TRANSLATED_HW =
  /^hw:(cpu_(thread_)?policy|emulator_|mem_encryption|pmem|tpm_|pci_numa_|maxphysaddr_mode)/;
const TRANSLATED = /^(hw:(virtio_packed|ephemeral_)|os:secure_boot|accel:|pci_passthrough:)/;
// The class of each property, and how many units of the property a unit of the class has.
const OWN_AMOUNTS = {
  vcpus: ["VCPU", 1],
  ram: ["MEMORY_MB", 1],
  disk: ["DISK_GB", 1],
  ephemeral: ["DISK_GB", 1],
  swap: ["DISK_GB", 1024],
};

/**
 * Read a flavor's properties: key=value, on lines, or with commas or blanks between them.
 *
 * Where a key has several values, they have ";" between them. Keys for nova's filters and drivers,
 * such as hw:mem_page_size, are ignored. Keys that nova translates to resources and traits are
 * refused, because only the command translates them.
 */
function fromFlavor(text) {
  const request = { groups: Object.create(null) };
  const own = {};
  const items = text.replaceAll("--property", " ").split(BETWEEN_PROPERTIES);
  for (const item of items) {
    const [key, values] = item.trim().replace(/^['"]|['",]+$/g, "").split(/\s*=\s*(.*)/s);
    if (!key) continue;
    if (Object.hasOwn(OWN_AMOUNTS, key)) {
      const [name, units] = OWN_AMOUNTS[key];
      own[name] = (own[name] ?? 0) + Math.ceil(amount(key, values ?? "") / units);
      continue;
    }
    for (const value of (values ?? "").split(";")) readProperty(request, key, value);
  }
  addOwn(request, own);
  for (const terms of Object.values(request.groups)) dropZeros(terms);
  return request;
}

function readProperty(request, key, value) {
  const [, kind, suffix, name] = /^(resources|trait)([\w-]*):(\w+)$/.exec(key) ?? [];
  if (kind === "resources") {
    (group(request, suffix).resources ??= {})[name] = amount(key, value);
  } else if (kind === "trait" && value === "required") {
    (group(request, suffix).required ??= []).push(name);
  } else if (kind === "trait" && value === "forbidden") {
    (group(request, suffix).forbidden ??= []).push(name);
  } else if (kind) throw new RequestError(`${key} is “required” or “forbidden”, not “${value}”.`);
  else if (TRANSLATED_HW.test(key) || TRANSLATED.test(key)) {
    throw new RequestError(`${key} is translated by placement-manage explain --flavor, not here.`);
  } else if (key === "placement:tolerate") readTerm(request, "tolerate", value);
  else if (key === "tolerate") throw new RequestError(`${key} is “placement:${key}” in a flavor.`);
  else if (!key.includes(":")) readTerm(request, key, value);
}

// The flavor's own amounts, unless a group states the class. PCPU replaces VCPU.
function addOwn(request, own) {
  const stated = new Set(
    Object.values(request.groups).flatMap((terms) => Object.keys(terms.resources ?? {})),
  );
  if (stated.has("PCPU")) stated.add("VCPU");
  for (const [name, units] of Object.entries(own)) {
    if (!stated.has(name)) (group(request, "").resources ??= {})[name] = units;
  }
}

// No units of the class, regardless of other keys of the flavor.
function dropZeros(terms) {
  for (const [name, units] of Object.entries(terms.resources ?? {})) {
    if (!units) delete terms.resources[name];
  }
}

// `groups` has no prototype: "__proto__" is a suffix like any other.
function group(request, suffix) {
  return (request.groups[suffix] ??= {});
}

function amounts(value) {
  const pairs = list(value).map((item) => item.split(":"));
  return Object.fromEntries(pairs.map(([name, units]) => [name, amount(name, units ?? "")]));
}

function amount(name, text) {
  if (!/^\d+$/.test(text)) throw new RequestError(`${name} needs a whole number, not “${text}”.`);
  return Number(text);
}

function list(value) {
  return value.split(",").map((item) => item.trim()).filter(Boolean);
}

function readTraits(terms, value) {
  if (value.startsWith("in:")) {
    (terms.required ??= []).push(list(value.slice(3)));
    return;
  }
  for (const name of list(value)) {
    if (name.startsWith("!")) (terms.forbidden ??= []).push(name.slice(1));
    else (terms.required ??= []).push(name);
  }
}

function readAggregates(terms, value) {
  const forbidden = value.startsWith("!");
  const uuids = list(value.replace(/^!/, "").replace(/^in:/, ""));
  if (forbidden) (terms.not_member_of ??= []).push(...uuids);
  else (terms.member_of ??= []).push(uuids.length > 1 ? uuids : uuids[0]);
}

function readRule(request, value) {
  const suffixes = list(value);
  (request.same_subtree ??= []).push({
    of: suffixes.filter((suffix) => !suffix.startsWith("!")),
    not: suffixes.filter((suffix) => suffix.startsWith("!")).map((suffix) => suffix.slice(1)),
  });
}

/** Return the query string that says the same as a request. */
export function toQuery(request) {
  const query = [];
  const say = (key, value) =>
    query.push(`${key}=${encodeURIComponent(value).replace(/%(3A|2C|21)/g, decodeURIComponent)}`);
  for (const [suffix, terms] of Object.entries(request.groups)) {
    const amounts = Object.entries(terms.resources ?? {});
    const resources = amounts.map(([name, units]) => `${name}:${units}`);
    if (resources.length) say(`resources${suffix}`, resources.join(","));
    writeTraits(say, `required${suffix}`, terms);
    writeAggregates(say, `member_of${suffix}`, terms);
    if (terms.in_tree) say(`in_tree${suffix}`, terms.in_tree);
    if (terms.subtree) say(`subtree${suffix}`, terms.subtree);
    if (terms.can_split?.length) say("can_split", terms.can_split.join(","));
  }
  for (const rule of request.same_subtree ?? []) {
    say("same_subtree", [...rule.of, ...(rule.not ?? []).map((suffix) => `!${suffix}`)].join(","));
  }
  if (request.isolate?.length) say("isolate", request.isolate.join(","));
  if (request.group_policy) say("group_policy", request.group_policy);
  writeTraits(say, "root_required", request.root ?? {});
  writeAggregates(say, "root_member_of", request.root ?? {});
  if (request.tolerate?.length) say("tolerate", request.tolerate.join(","));
  if (request.limit) say("limit", String(request.limit));
  return query.join("&");
}

function writeTraits(say, key, terms) {
  const sets = (terms.required ?? []).filter(Array.isArray);
  const names = (terms.required ?? []).filter((item) => !Array.isArray(item));
  const all = [...names, ...(terms.forbidden ?? []).map((name) => `!${name}`)];
  if (all.length) say(key, all.join(","));
  for (const set of sets) say(key, `in:${set.join(",")}`);
}

function writeAggregates(say, key, terms) {
  for (const item of terms.member_of ?? []) {
    say(key, Array.isArray(item) ? `in:${item.join(",")}` : item);
  }
  const forbidden = terms.not_member_of ?? [];
  if (forbidden.length) {
    say(key, forbidden.length > 1 ? `!in:${forbidden.join(",")}` : `!${forbidden[0]}`);
  }
}

/** Return the steps of a path such as groups._NIC.required[0] or groups[""].in_tree. */
export function steps(path) {
  const words = path.matchAll(/\["(.*?)"\]|\[(\d+)\]|([^.[\]]+)/g);
  return [...words].map(([, quoted, index, word]) => quoted ?? word ?? Number(index));
}

/** Return the request without the condition at a path. */
export function without(request, path) {
  const copy = structuredClone(request);
  const [holder, last] = place(copy, path);
  if (Array.isArray(holder)) holder.splice(last, 1);
  else if (holder) delete holder[last];
  return copy;
}

/** Return the request with another value at a path. */
export function altered(request, path, value) {
  const copy = structuredClone(request);
  const [holder, last] = place(copy, path);
  if (holder) holder[last] = value;
  return copy;
}

function place(request, path) {
  const words = steps(path);
  const last = words.pop();
  return [words.reduce((holder, word) => holder?.[word], request), last];
}
