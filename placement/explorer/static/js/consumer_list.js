// The consumers of the cloud, some at a time, with their allocations, project and user.

import { nextPage } from "./api.js";
import { h } from "./dom.js";
import { whole } from "./format.js";
import { address } from "./state.js";

const FIRST = "resource_providers?limit=1000&include=allocations";
const ROWS = 50; // consumers shown at a time
const COLUMNS = ["Consumer", "Type", "Project", "User", "Holds"];

/**
 * A list that reads no more than it shows.
 *
 * No operation lists consumers: pages of providers name them, and a request for each of their trees
 * returns the records of the consumers shown.
 */
export class ConsumerList {
  constructor(page) {
    this._page = page;
    this._next = FIRST; // path of the next page of providers; null behind the last
    this._known = new Set(); // consumers that some page has named
    this._waiting = []; // [consumer, root of a tree of its], not shown yet
    this._records = new Map(); // consumer -> its record of the API
    this._names = new Map(); // uuid of a provider -> its name
    this._body = h("tbody");
    this._state = h("p", { class: "state" }, h("progress"), " Looking for consumers…");
    this._more = h("button", {
      type: "button",
      hidden: true,
      onclick: () => page.run(() => this.more()),
    }, "Show more");
    this._table = h(
      "div",
      { class: "scroll", hidden: true, tabindex: "0", role: "group", "aria-label": "Consumers" },
      h(
        "table",
        { class: "consumer-list" },
        h("thead", {}, h("tr", {}, COLUMNS.map((column) => h("th", { scope: "col" }, column)))),
        this._body,
      ),
    );
    this.element = h("section", {}, h("h2", {}, "Consumers"), this._state, this._table, this._more);
  }

  /** Read and show the next consumers.  Throws ApiError. */
  async more() {
    this._more.hidden = true;
    while (this._waiting.length < ROWS && this._next) await this._readPage();
    const shown = this._waiting.splice(0, ROWS);
    await this._readRecords(shown);
    this._body.append(...shown.flatMap(([uuid]) => this._row(uuid)));
    this._table.hidden = !this._body.children.length;
    this._state.textContent = this._body.children.length ? "" : "No consumer holds anything yet.";
    this._more.hidden = !this._waiting.length && !this._next;
  }

  async _readPage() {
    const { api, signal } = this._page;
    const body = await api.get(this._next, { signal });
    for (const provider of body.resource_providers) {
      this._names.set(provider.uuid, provider.name);
      for (const consumer of Object.keys(provider.allocations)) {
        if (this._known.has(consumer)) continue;
        this._known.add(consumer);
        this._waiting.push([consumer, provider.root_provider_uuid]);
      }
    }
    this._next = nextPage(body);
  }

  async _readRecords(shown) {
    const { api, signal } = this._page;
    const lacking = shown.filter(([consumer]) => !this._records.has(consumer));
    const roots = new Set(lacking.map(([, root]) => root));
    await Promise.all([...roots].map(async (root) => {
      const { allocations } = await api.get(`allocations?in_tree=${root}`, { signal });
      for (const [uuid, record] of Object.entries(allocations)) this._records.set(uuid, record);
    }));
  }

  // The record is missing if the consumer was deleted since its page was read.
  _row(uuid) {
    const record = this._records.get(uuid);
    if (!record) return [];
    const project = record.project_id;
    return [h(
      "tr",
      {},
      h(
        "th",
        { scope: "row" },
        h("a", { href: address("consumer", uuid) }, h("code", {}, uuid)),
      ),
      h("td", {}, record.consumer_type ?? ""),
      h("td", {}, h("a", { href: address("consumer", "", { project }) }, project)),
      h("td", {}, record.user_id),
      h("td", {}, this._holdings(record.allocations)),
    )];
  }

  _holdings(allocations) {
    return Object.entries(allocations).map(([uuid, { resources }], index) => {
      const amounts = Object.entries(resources).map(([name, units]) => `${name} ${whole(units)}`);
      const name = this._names.get(uuid) ?? this._page.nameOf(uuid);
      return [index ? "; " : "", h("strong", {}, name), ` ${amounts.join(", ")}`];
    });
  }
}
