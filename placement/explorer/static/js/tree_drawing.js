// A tree of providers as cards with inventories as bars; children are indented.

import { capacity, largest } from "./capacity.js";
import { copyButton, h, svg } from "./dom.js";
import { brief, sorted, whole } from "./format.js";

const FEW = 6; // traits that are shown without asking
const MANY = 200; // providers below one, likewise

/**
 * Return the drawing of a tree.
 *
 * providers: as the API lists them, with what `include` adds. marks: uuid -> texts to show on a
 * card. Cards have their provider's UUID in `data-provider`, and a part of a consumer its own in
 * `data-consumer`.
 */
export function drawTree(providers, { marks = new Map(), onConsumer = null } = {}) {
  const uuids = new Set(providers.map((provider) => provider.uuid));
  const below = grouped(providers);
  const branch = (provider) =>
    h(
      "li",
      {},
      card(provider, { marks: marks.get(provider.uuid) ?? [], onConsumer }),
      below.has(provider.uuid) ? branches(below.get(provider.uuid), marks, branch) : null,
    );
  const tops = providers.filter((provider) => !uuids.has(provider.parent_provider_uuid));
  return h("ul", { class: "tree" }, tops.map(branch));
}

function grouped(providers) {
  const groups = new Map();
  for (const provider of sorted(providers)) {
    const parent = provider.parent_provider_uuid;
    if (groups.has(parent)) groups.get(parent).push(provider);
    else groups.set(parent, [provider]);
  }
  return groups;
}

// Thousands of cards keep a browser busy for seconds. Marked providers are always shown.
function branches(providers, marks, branch) {
  const shown = providers.filter((provider, index) => index < MANY || marks.has(provider.uuid));
  const list = h("ul", { class: "branches" }, shown.map(branch));
  if (shown.length < providers.length) {
    const rest = providers.filter((provider, index) => index >= MANY && !marks.has(provider.uuid));
    const more = h("button", {
      type: "button",
      class: "quiet",
      onclick: () => {
        const [first, ...others] = rest.splice(0, MANY).map(branch);
        item.replaceWith(first, ...others, ...remaining());
        first.querySelector("button").focus();
      },
    });
    const item = h("li", {}, more);
    const remaining = () => {
      more.textContent = `${whole(rest.length)} more providers`;
      return rest.length ? [item] : [];
    };
    list.append(...remaining());
  }
  return list;
}

/** Return the card of one provider. */
export function card(provider, { marks = [], onConsumer = null, note = "" } = {}) {
  const stocks = Object.entries(provider.inventories ?? {});
  return h(
    "article",
    {
      class: marks.length ? "card marked" : "card",
      "data-provider": provider.uuid,
      "aria-label": provider.name,
    },
    h(
      "header",
      {},
      h("h3", {}, provider.name),
      h("code", { title: provider.uuid }, brief(provider.uuid)),
      copyButton("Copy UUID", provider.uuid),
      h("small", {}, `generation ${provider.generation}`),
      marks.map((mark) => h("b", { class: "mark" }, mark)),
    ),
    note ? h("p", { class: "note" }, note) : null,
    h(
      "div",
      { class: "stocks" },
      stocks.map(([name, inventory]) => stockRow(provider, name, inventory, onConsumer)),
    ),
    chips("trait", provider.traits ?? []),
    chips("aggregate", provider.aggregates ?? []),
  );
}

function stockRow(provider, name, inventory, onConsumer) {
  const used = provider.usages?.[name] ?? 0;
  const allocatable = capacity(inventory);
  const free = Math.max(allocatable - used, 0);
  const details = [
    `total ${whole(inventory.total)}`,
    inventory.reserved ? `reserved ${whole(inventory.reserved)}` : null,
    inventory.allocation_ratio === 1 ? null : `ratio ${inventory.allocation_ratio}`,
    inventory.min_unit > 1 ? `least ${whole(inventory.min_unit)}` : null,
    inventory.max_unit < allocatable ? `most at once ${whole(inventory.max_unit)}` : null,
    inventory.step_size > 1 ? `in steps of ${whole(inventory.step_size)}` : null,
    `largest free piece ${whole(largest(inventory, used))}`,
  ].filter(Boolean).join(", ");
  return h(
    "div",
    { class: "stock", title: details },
    h("span", { class: "name" }, name),
    stockBar(provider, name, inventory, used, onConsumer),
    h(
      "span",
      { class: used > allocatable ? "figures over" : "figures" },
      h("span", {}, `${whole(used)} of ${whole(allocatable)} used,`),
      h("span", {}, ` ${whole(free)} free`),
    ),
    h("span", { class: "unseen" }, details),
  );
}

function stockBar(provider, name, inventory, used, onConsumer) {
  const reserved = Math.max(inventory.reserved * inventory.allocation_ratio, 0);
  const whole = Math.max(capacity(inventory), used, 0) + reserved || 1;
  const wide = (amount) => (amount / whole) * 100;
  let from = wide(reserved);
  const parts = [];
  for (const [consumer, { resources }] of Object.entries(provider.allocations ?? {})) {
    if (!resources?.[name]) continue;
    const width = wide(resources[name]);
    const part = svg("rect", {
      class: "part",
      x: from,
      width,
      height: 10,
      "data-consumer": consumer,
    });
    if (onConsumer) part.addEventListener("click", () => onConsumer(consumer));
    from += width;
    parts.push(part);
  }
  return svg(
    "svg",
    { class: "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: "free", width: 100, height: 10 }),
    svg("rect", { class: "reserved", width: wide(reserved), height: 10 }),
    svg("rect", {
      class: used > capacity(inventory) ? "over" : "used",
      x: wide(reserved),
      width: wide(used),
      height: 10,
    }),
    parts,
  );
}

function chips(kind, names) {
  if (!names.length) return null;
  const chip = (name) => h("li", { class: kind }, kind === "aggregate" ? `in ${name}` : name);
  const rest = names.slice(FEW);
  const list = h("ul", { class: "chips", "aria-label": `${kind}s` }, names.slice(0, FEW).map(chip));
  if (rest.length) {
    const more = h("button", {
      type: "button",
      class: "quiet",
      onclick: () => {
        const [first, ...others] = rest.map(chip);
        more.parentElement.replaceWith(first, ...others);
        first.tabIndex = -1;
        first.focus();
      },
    }, `${rest.length} more`);
    list.append(h("li", { class: "more" }, more));
  }
  return list;
}

/** Highlight only the allocations of one consumer in a drawing; "": of none. */
export function lightUp(drawing, consumer) {
  for (const part of drawing.querySelectorAll("[data-consumer]")) {
    part.classList.toggle("lit", part.dataset.consumer === consumer);
  }
}
