// The consumers of the cloud or of a project, a page at a time.

import { h } from "./dom.js";
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
    const query = new URLSearchParams({ limit: ROWS, include: "allocations" });
    if (project !== null) query.set("project_id", project);
    this._next = `consumers?${query}`; // null behind the last
    this._state = h("p", { class: "state" }, h("progress"), " Loading consumers…");
    this._more = h("button", {
      type: "button",
      hidden: true,
      onclick: () => page.run(() => this.more()),
    }, "Show more");
    this._table = table("Consumers", COLUMNS, [], { kind: "texts" });
    this._table.hidden = true;
    this._body = this._table.querySelector("tbody");
    this.element = h("section", {}, h("h2", {}, "Consumers"), this._state, this._table, this._more);
  }

  /** Read and show the next page.  Throws ApiError. */
  async more() {
    this._more.hidden = true;
    const { api, signal } = this._page;
    const body = await api.get(this._next, { signal });
    const next = body.consumers_links?.find((link) => link.rel === "next")?.href;
    this._next = next ? `consumers${next.slice(next.indexOf("?"))}` : null;
    const from = this._body.children.length;
    this._body.append(...body.consumers.map((consumer) => this._row(consumer)));
    // The button was hidden while it had the focus.
    if (from) this._body.children[from]?.querySelector("a").focus();
    this._table.hidden = !this._body.children.length;
    this._state.textContent = this._body.children.length ? "" : "No consumer holds anything yet.";
    this._more.hidden = !this._next;
    await this._page.learnNames(this._body);
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
