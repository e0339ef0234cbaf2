// The allocations of a consumer, drawn on its trees; and the usage of a project.

import { ConsumerList } from "../consumer_list.js";
import { field, fill, h } from "../dom.js";
import { count, UUID, whole } from "../format.js";
import { address } from "../state.js";
import { refusalOfEmptyHost, shares } from "../room.js";
import { timeLeft } from "../time_left.js";
import { drawTree, lightUp } from "../tree_drawing.js";

const PARTS = "inventories,usages,traits,aggregates,allocations";

const WHAT_IS_A_CONSUMER = "A consumer holds allocations: an instance, a migration, a volume. " +
  "Name one by its UUID, or a project by its id.";

/** Show a consumer, or a project, in an element. */
export class ConsumerView {
  constructor(page, element) {
    this._page = page;
    this._element = element;
  }

  /** Show the consumer, or the project, that the address names. */
  async show({ path, parameters }) {
    const project = parameters.get("project");
    this._body = h("div");
    fill(this._element, h("h1", {}, "Consumer"), this._form(path, project), this._body);
    if (path) await this._showConsumer(path);
    else if (project) await this._showProject(project);
    else await this._showAll();
  }

  _form(consumer, project) {
    const consumerInput = h("input", { value: consumer ?? "", size: 38, spellcheck: "false" });
    const projectInput = h("input", { value: project ?? "", size: 34, spellcheck: "false" });
    const go = (hash) => (event) => {
      event.preventDefault();
      location.hash = hash();
    };
    return h(
      "div",
      { class: "controls" },
      h(
        "form",
        { onsubmit: go(() => address("consumer", consumerInput.value.trim())) },
        field("UUID of a consumer", consumerInput),
        h("button", {}, "Show"),
      ),
      h(
        "form",
        { onsubmit: go(() => address("consumer", "", { project: projectInput.value.trim() })) },
        field("Id of a project", projectInput),
        h("button", {}, "Show"),
      ),
    );
  }

  async _showAll() {
    const list = new ConsumerList(this._page);
    fill(this._body, h("p", {}, WHAT_IS_A_CONSUMER), list.element);
    await list.more();
  }

  async _showConsumer(uuid) {
    const { api, signal } = this._page;
    if (!UUID.test(uuid)) {
      fill(this._body, h("p", { class: "empty" }, `${uuid} is not a UUID.`));
      return;
    }
    fill(this._body, h("p", { class: "state" }, h("progress"), " Loading its allocations…"));
    const body = await api.get(`allocations/${uuid}`, { signal });
    const held = Object.keys(body.allocations);
    if (!held.length) {
      fill(
        this._body,
        h("p", { class: "empty" }, `Consumer ${uuid} has no allocations, or does not exist.`),
      );
      return;
    }
    const providers = await Promise.all(
      held.map((provider) => api.get(`resource_providers/${provider}`, { signal })),
    );
    const roots = [...new Set(providers.map((provider) => provider.root_provider_uuid))];
    const record = await this._record(uuid);
    const trees = await Promise.all(
      roots.map((root) =>
        api.list("resource_providers", `in_tree=${root}&include=${PARTS}`, { signal })
      ),
    );
    // A sharing provider is no host of its consumers.
    const [host] = trees.find((each) => !shares(each)) ?? trees[0];
    const marks = new Map();
    for (const [provider, { resources }] of Object.entries(body.allocations)) {
      const amounts = Object.entries(resources);
      marks.set(provider, amounts.map(([name, units]) => `${name} ${whole(units)}`));
    }
    fill(
      this._body,
      h("h2", {}, `${body.consumer_type ?? "Consumer"} ${uuid}`),
      facts({
        Project: h(
          "a",
          { href: address("consumer", "", { project: body.project_id }) },
          body.project_id,
        ),
        User: body.user_id,
        Generation: String(body.consumer_generation),
        ...claimFacts(record),
      }),
      record.request ? this._asked(record.request, host.root_provider_uuid) : null,
      h(
        "p",
        {},
        `It has allocations of ${count(held.length, "provider")}`,
        ` in ${count(roots.length, "tree")}.`,
      ),
      trees.map((each) => {
        const drawing = h("div", { class: "drawing" }, drawTree(each, { marks }));
        const root = each.find((provider) => !provider.parent_provider_uuid);
        lightUp(drawing, uuid);
        return h(
          "section",
          {},
          h(
            "h3",
            {},
            h(
              "a",
              { href: address("tree", root.uuid, { consumer: uuid }) },
              `Tree of ${root.name}`,
            ),
          ),
          drawing,
        );
      }),
    );
  }

  // Another request may have ended the consumer since its allocations were read.
  async _record(uuid) {
    const { api, signal } = this._page;
    try {
      return await api.get(`consumers/${uuid}?include=request`, { signal });
    } catch (error) {
      if (error.status !== 404) throw error;
      return {};
    }
  }

  _asked(request, root) {
    const outcome = h("p", { "aria-live": "polite" });
    const look = async () => {
      const refusal = await refusalOfEmptyHost(this._page, request, root);
      outcome.textContent = refusal === null
        ? "Its host, if it were empty, would serve this request."
        : `Its host would no longer serve this request, even if it were empty: ${refusal}`;
    };
    return h(
      "details",
      {},
      h("summary", {}, "What it asked for"),
      h("pre", { tabindex: "0" }, JSON.stringify(request, null, 2)),
      h("a", { href: address("ask", "", { request: JSON.stringify(request) }) }, "Ask again"),
      " ",
      h(
        "button",
        { type: "button", onclick: () => this._page.run(look) },
        "Would its host still serve it?",
      ),
      outcome,
    );
  }

  async _showProject(project) {
    const { api, signal } = this._page;
    fill(this._body, h("p", { class: "state" }, h("progress"), " Loading its usages…"));
    const { usages } = await api.get(`usages?project_id=${encodeURIComponent(project)}`, {
      signal,
    });
    const types = Object.entries(usages);
    if (!types.length) {
      fill(this._body, h("p", { class: "empty" }, `Project ${project} uses nothing.`));
      return;
    }
    const list = new ConsumerList(this._page, { project });
    fill(
      this._body,
      h("h2", {}, `Project ${project}`),
      types.map(([type, { consumer_count: consumers, ...resources }]) => {
        const amounts = Object.entries(resources).map(([name, units]) => [name, whole(units)]);
        const title = h("h3", {}, `${type}: ${count(consumers, "consumer")}`);
        return h("section", {}, title, facts(Object.fromEntries(amounts)));
      }),
      list.element,
    );
    await list.more();
  }
}

function claimFacts({ expires_at: end, spread_group: group }) {
  const found = {};
  if (end) found["Hold ends"] = timeLeft(end);
  if (group) found["Spread group"] = `${group.name}, at most ${group.max_per_host} on a host`;
  return found;
}

function facts(pairs) {
  return h(
    "dl",
    {},
    Object.entries(pairs).map(([name, value]) =>
      h("div", {}, h("dt", {}, name), h("dd", {}, value))
    ),
  );
}
