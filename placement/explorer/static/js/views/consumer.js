// The allocations of a consumer, drawn on its trees; and the usage of a project.

import { nextPage } from "../api.js";
import { ConsumerList } from "../consumer_list.js";
import { field, fill, h } from "../dom.js";
import { count, UUID, whole } from "../format.js";
import { address } from "../state.js";
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
    const trees = await Promise.all(
      roots.map((root) => api.providers(`in_tree=${root}&include=${PARTS}`, { signal })),
    );
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
      }),
      h(
        "p",
        {},
        `It holds something of ${count(held.length, "provider")}`,
        ` in ${count(roots.length, "tree")}.`,
      ),
      trees.map((each) => {
        const drawing = h("div", { class: "drawing" }, drawTree(each, { marks }));
        lightUp(drawing, uuid);
        return h(
          "section",
          {},
          h(
            "h3",
            {},
            h(
              "a",
              { href: address("tree", each[0].root_provider_uuid, { consumer: uuid }) },
              "Its tree",
            ),
          ),
          drawing,
        );
      }),
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
    fill(
      this._body,
      h("h2", {}, `Project ${project}`),
      types.map(([type, { consumer_count: consumers, ...resources }]) => {
        const amounts = Object.entries(resources).map(([name, units]) => [name, whole(units)]);
        const title = h("h3", {}, `${type}: ${count(consumers, "consumer")}`);
        return h("section", {}, title, facts(Object.fromEntries(amounts)));
      }),
      this._finder(project),
    );
  }

  // No operation lists the consumers of a project, so each consumer of the cloud is requested.
  _finder(project) {
    const list = h("ul", { class: "consumers" });
    const progress = h("progress", { value: 0, hidden: true, "aria-label": "Consumers looked at" });
    const button = h("button", { type: "button" }, "Find its consumers");
    const find = async () => {
      button.disabled = true;
      progress.hidden = false;
      await this._find(project, list, progress);
      progress.hidden = true;
    };
    button.addEventListener("click", () => this._page.run(find));
    return h(
      "section",
      {},
      h("h3", {}, "Its consumers"),
      h(
        "p",
        {},
        "The API has no list of these; ",
        "finding them takes a request for each consumer of the cloud.",
      ),
      button,
      " ",
      progress,
      list,
    );
  }

  async _find(project, list, progress) {
    const { api, signal } = this._page;
    const consumers = new Set();
    for (let path = "resource_providers?limit=1000&include=allocations"; path;) {
      const body = await api.get(path, { signal });
      for (const provider of body.resource_providers) {
        Object.keys(provider.allocations).forEach((consumer) => consumers.add(consumer));
      }
      path = nextPage(body);
    }
    progress.max = consumers.size;
    for (const consumer of consumers) {
      const { project_id: owner, allocations } = await api.get(`allocations/${consumer}`, {
        signal,
      });
      if (owner === project) {
        list.append(
          h(
            "li",
            {},
            h("a", { href: address("consumer", consumer) }, consumer),
            ` ${count(Object.keys(allocations).length, "provider")}`,
          ),
        );
      }
      progress.value += 1;
    }
    if (!list.children.length) list.append(h("li", {}, "None holds anything now."));
  }
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
