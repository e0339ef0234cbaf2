// One host as a tree, with the sharing providers that it uses, and its consumers.

import { departure } from "../departure.js";
import { announce, copyButton, field, fill, h } from "../dom.js";
import { count, sorted, spelled, UUID } from "../format.js";
import { card, drawTree, lightUp } from "../tree_drawing.js";
import { address, replace } from "../state.js";

const PARTS = "inventories,usages,traits,aggregates";
const ALL = `${PARTS},allocations`;
const MOST_CHOICES = 100; // shown of providers with a part of a name

const LEGEND = { reserved: "reserved", used: "used", lit: "the chosen consumer's", free: "free" };

/** Show a tree in an element. */
export class TreeView {
  constructor(page, element) {
    this._page = page;
    this._element = element;
  }

  /** Show the tree of the provider that the address names; without one, ask for it. */
  async show({ path, parameters }) {
    const search = finder();
    const tell = (...content) => fill(this._element, h("h1", {}, "Tree"), content);
    if (!path) {
      tell(
        h("p", {}, "Choose a host on the map, or find one by a part of its name, or its UUID."),
        search,
      );
      return;
    }
    tell(h("p", { class: "state" }, h("progress"), " Loading the tree…"));
    const { api, signal } = this._page;
    const named = UUID.test(path) ? [{ uuid: path }] : await byPartOfName(this._page, path);
    if (named.length > 1) {
      tell(search, choices(named, path));
      return;
    }
    const providers = named.length
      ? await api.list("resource_providers", `in_tree=${named[0].uuid}&include=${ALL}`, { signal })
      : [];
    if (!providers.length) {
      const sought = named.length ? `the UUID ${path}` : `“${path}” in its name`;
      tell(
        h("p", { class: "empty" }, `No provider has ${sought}. It may have been deleted.`),
        search,
      );
      return;
    }
    this._root = named[0].name ?? path;
    const root = providers.find((provider) => !provider.parent_provider_uuid) ?? providers[0];
    const rollup = await api.get(`resource_providers/${root.uuid}/rollup`, { signal });
    const sharing = await Promise.all(
      Object.keys(rollup.sharing).map((uuid) =>
        api.get(`resource_providers/${uuid}?include=${ALL}`, { signal })
      ),
    );
    this._draw(providers, root, sharing, search);
    const consumer = parameters.get("consumer") ?? "";
    if (UUID.test(consumer)) await this._choose(consumer);
  }

  _draw(providers, root, sharing, search) {
    const consumers = gathered([...providers, ...sharing]);
    const onConsumer = (consumer) => this._page.run(() => this._choose(consumer));
    this._drawing = h(
      "div",
      { class: "drawing" },
      h("h2", { class: "unseen" }, "Providers"),
      h(
        "p",
        { class: "legend", "aria-hidden": "true" },
        Object.entries(LEGEND).map(([kind, text]) =>
          h("span", {}, h("i", { class: `swatch ${kind}` }), text)
        ),
      ),
      drawTree(providers, { onConsumer }),
      sharing.length
        ? h(
          "section",
          { class: "sharing", "aria-label": "Sharing providers" },
          h("h2", {}, "Shared with it"),
          sorted(sharing).map((provider) =>
            card(provider, { onConsumer, note: "reached through an aggregate" })
          ),
        )
        : null,
    );
    this._elsewhere = h("div", { "aria-live": "polite" });
    this._buttons = new Map();
    fill(
      this._element,
      h(
        "div",
        { class: "title" },
        h("h1", {}, root.name),
        h("p", { class: "state" }, count(providers.length, "provider")),
        copyButton("Copy UUID", root.uuid),
        search,
      ),
      departure(this._page, root.uuid),
      h(
        "div",
        { class: "beside" },
        this._drawing,
        h(
          "aside",
          { "aria-labelledby": "consumers-title" },
          h("h2", { id: "consumers-title" }, count(consumers.size, "consumer")),
          consumers.size
            ? h("p", {}, "Choose a consumer to highlight its allocations.")
            : h("p", { class: "empty" }, "This tree has no allocations."),
          h(
            "ul",
            { class: "consumers" },
            [...consumers].map(([uuid, resources]) => this._consumer(uuid, resources)),
          ),
          this._elsewhere,
        ),
      ),
    );
  }

  _consumer(uuid, resources) {
    const button = h(
      "button",
      {
        type: "button",
        "aria-pressed": "false",
        onclick: () => this._page.run(() => this._choose(uuid)),
      },
      h("code", {}, uuid),
      h("small", {}, spelled(resources)),
    );
    this._buttons.set(uuid, button);
    return h("li", {}, button);
  }

  async _choose(consumer) {
    const pressed = this._buttons.get(consumer)?.getAttribute("aria-pressed") === "true";
    const chosen = pressed ? "" : consumer;
    for (const [uuid, button] of this._buttons) {
      button.setAttribute("aria-pressed", String(uuid === chosen));
    }
    lightUp(this._drawing, chosen);
    replace(address("tree", this._root, { consumer: chosen }));
    fill(this._elsewhere);
    if (!chosen) return;
    const { allocations, project_id: project, consumer_type: type } = await this._page.api.get(
      `allocations/${chosen}`,
      { signal: this._page.signal },
    );
    const here = new Set(
      [...this._drawing.querySelectorAll("[data-provider]")].map((each) => each.dataset.provider),
    );
    const elsewhere = Object.entries(allocations).filter(([uuid]) => !here.has(uuid));
    const lit = count(Object.keys(allocations).length - elsewhere.length, "provider");
    announce(`Highlighted: ${lit} here, ${elsewhere.length} elsewhere`);
    fill(
      this._elsewhere,
      h("h3", {}, "Chosen"),
      h(
        "p",
        {},
        [type, project ? `of project ${project}` : ""].filter(Boolean).join(" "),
        " ",
        h("a", { href: address("consumer", chosen) }, "All that it holds"),
      ),
      elsewhere.length ? listed(elsewhere, chosen) : null,
    );
  }
}

function listed(elsewhere, consumer) {
  const items = elsewhere.map(([uuid, { resources }]) => {
    const link = h("a", { href: address("tree", uuid, { consumer }) }, uuid);
    return h("li", {}, link, ` ${spelled(resources)}`);
  });
  return h("div", {}, h("p", {}, "It also has allocations elsewhere:"), h("ul", {}, items));
}

/** Return consumer -> class -> units, of all that these providers give. */
function gathered(providers) {
  const consumers = new Map();
  for (const provider of providers) {
    for (const [consumer, { resources }] of Object.entries(provider.allocations ?? {})) {
      if (!consumers.has(consumer)) consumers.set(consumer, {});
      const sums = consumers.get(consumer);
      for (const [name, units] of Object.entries(resources)) sums[name] = (sums[name] ?? 0) + units;
    }
  }
  return consumers;
}

/** Return the provider of a name; if there is none, those whose names contain it. */
async function byPartOfName(page, name) {
  const query = `name=${encodeURIComponent(name)}`;
  const exact = await page.api.list("resource_providers", query, { signal: page.signal });
  return exact.length ? exact : (await page.learnCloud()).find(name);
}

function choices(providers, part) {
  const title = `${count(providers.length, "provider")} with “${part}” in their names`;
  announce(title);
  return h(
    "section",
    {},
    h("h2", {}, title),
    h(
      "ul",
      {},
      providers.slice(0, MOST_CHOICES).map(({ uuid, name }) =>
        h("li", {}, h("a", { href: address("tree", uuid) }, name))
      ),
    ),
    providers.length > MOST_CHOICES
      ? h("p", { class: "note" }, `The first ${MOST_CHOICES} are shown.`)
      : null,
  );
}

/** Return a form that leads to a provider by its name, a part of it, or its UUID. */
function finder() {
  const input = h("input", { size: 30, required: true, spellcheck: "false" });
  return h(
    "form",
    {
      class: "find",
      onsubmit: (event) => {
        event.preventDefault();
        location.hash = address("tree", input.value.trim());
      },
    },
    field("Part of a name, or UUID", input),
    h("button", {}, "Find"),
  );
}
