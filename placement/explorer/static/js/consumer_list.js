// The consumers of the cloud or of a project, a page at a time.

import { nextPage } from "./api.js";
import { h } from "./dom.js";
import { saveButtons } from "./exports.js";
import { spelled } from "./format.js";
import { address } from "./state.js";
import { row, table } from "./table.js";
import { timeLeft } from "./time_left.js";

const ROWS = 50; // in a page
const COLUMNS = ["Consumer", "Type", "Project", "User", "Holds", "Hold ends"];

/** A list with a button for its next page. */
export class ConsumerList {
  /** project: id of the project whose consumers are listed; without it, all are. */
  constructor(page, { project = null } = {}) {
    this._page = page;
    const query = new URLSearchParams({ include: "allocations" });
    if (project !== null) query.set("project_id", project);
    this._query = String(query);
    this._next = `consumers?${query}&limit=${ROWS}`; // null behind the last
    this._state = h("p", { class: "state" }, h("progress"), " Loading consumers…");
    this._more = h("button", {
      type: "button",
      hidden: true,
      onclick: () => page.run(() => this.more()),
    }, "Show more");
    this._table = table("Consumers", COLUMNS, [], { kind: "texts" });
    this._table.hidden = true;
    this._body = this._table.querySelector("tbody");
    this._save = saveButtons(page, "consumers", () => this._allocations());
    this._save.hidden = true;
    this.element = h(
      "section",
      {},
      h("h2", {}, "Consumers"),
      this._state,
      this._table,
      this._more,
      this._save,
    );
  }

  /** Read and show the next page.  Throws ApiError. */
  async more() {
    this._more.hidden = true;
    const { api, signal } = this._page;
    const body = await api.get(this._next, { signal });
    this._next = nextPage("consumers", body);
    const from = this._body.children.length;
    this._body.append(...body.consumers.map((consumer) => this._row(consumer)));
    // The button was hidden while it had the focus.
    if (from) this._body.children[from]?.querySelector("a").focus();
    this._table.hidden = this._save.hidden = !this._body.children.length;
    this._state.textContent = this._body.children.length ? "" : "No consumer holds anything yet.";
    this._more.hidden = !this._next;
    await this._page.learnNames(this._body);
  }

  // All consumers, of whom the table may show only some: a row for each provider of a consumer.
  async _allocations() {
    const { api, signal } = this._page;
    const consumers = await api.list("consumers", this._query, { signal });
    return consumers.flatMap(({ uuid: consumer, allocations, ...facts }) =>
      Object.entries(allocations).map(([provider, { resources }]) => ({
        consumer,
        consumer_type: facts.consumer_type,
        project_id: facts.project_id,
        user_id: facts.user_id,
        expires_at: facts.expires_at,
        provider,
        provider_name: this._page.nameOf(provider),
        ...resources,
      }))
    );
  }

  _row(consumer) {
    const { uuid, project_id: project } = consumer;
    return row(COLUMNS, h("a", { href: address("consumer", uuid) }, h("code", {}, uuid)), [
      consumer.consumer_type,
      h("a", { href: address("consumer", "", { project }) }, project),
      consumer.user_id,
      this._holdings(consumer.allocations),
      consumer.expires_at ? timeLeft(consumer.expires_at) : null,
    ]);
  }

  _holdings(allocations) {
    return Object.entries(allocations).map(([uuid, { resources }], index) => {
      return [
        index ? "; " : "",
        h("strong", { "data-uuid": uuid }, this._page.nameOf(uuid)),
        ` ${spelled(resources)}`,
      ];
    });
  }
}
