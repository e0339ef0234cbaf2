// A search for candidates; if there are none, with the explanation.

import { AskForm } from "../ask_form.js";
import { announce, copyButton, fill, h } from "../dom.js";
import { EXAMPLES } from "../examples.js";
import { drawExplanation } from "../explanation.js";
import { count, spelled } from "../format.js";
import { parse, RequestError, toQuery } from "../request.js";
import { address, replace } from "../state.js";
import { drawRoom, roomFor } from "../room.js";
import { drawTree } from "../tree_drawing.js";

const PARTS = "inventories,usages,traits,aggregates";
const START = { groups: { "": { resources: { VCPU: 1, MEMORY_MB: 1024 } } }, limit: 20 };
const MOST_CARDS = 100;

/** Show the form and the result in an element. */
export class AskView {
  constructor(page, element) {
    this._page = page;
    this._element = element;
  }

  /** Show the request of the address, and ask at once when it has one. */
  async show({ parameters }) {
    const text = parameters.get("request");
    this._request = START;
    this._build();
    if (text) {
      this._set(this._parsed(text) ?? START);
      await this._ask();
    } else {
      this._set(START);
    }
    await this._page.learnNames(this._answer);
  }

  _name(uuid) {
    return h("span", { "data-uuid": uuid }, this._page.nameOf(uuid));
  }

  _build() {
    this._pasted = h("textarea", {
      rows: 3,
      cols: 60,
      spellcheck: "false",
      "aria-label": "Pasted request",
      placeholder:
        "resources=VCPU:2&required=…, or JSON, or a flavor's resources:VCPU=2, trait:…=required",
    });
    this._problem = h("p", { class: "problem", role: "alert", hidden: true });
    this._formElement = h("div");
    this._form = new AskForm(this._formElement, (request) => this._changed(request));
    this._forms = h("div", { class: "forms" });
    this._answer = h("section", { class: "answer", tabindex: "-1", "aria-label": "Answer" });
    fill(
      this._element,
      h("h1", {}, "Ask"),
      h(
        "div",
        { class: "examples", role: "group", "aria-label": "Examples" },
        EXAMPLES.map(([title, request]) =>
          h(
            "button",
            { type: "button", onclick: () => this._page.run(() => this._tryExample(request)) },
            title,
          )
        ),
      ),
      h(
        "div",
        { class: "beside ask" },
        h(
          "form",
          {
            class: "request",
            onsubmit: (event) => {
              event.preventDefault();
              this._page.run(() => this._ask({ reveals: true }));
            },
          },
          // Above what grows: a button that moves away while it is pressed is not pressed.
          h(
            "p",
            { class: "asking" },
            h("button", { class: "main" }, "Which hosts can serve this?"),
          ),
          h(
            "details",
            {},
            h("summary", {}, "Paste a query, JSON, or a flavor"),
            this._pasted,
            h("p", {}, h("button", { type: "button", onclick: () => this._paste() }, "Take it")),
          ),
          this._problem,
          this._formElement,
          this._forms,
        ),
        this._answer,
      ),
    );
  }

  _paste() {
    const request = this._parsed(this._pasted.value);
    if (request) this._set(request);
  }

  _parsed(text) {
    this._problem.hidden = true;
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      this._problem.hidden = false;
      this._problem.textContent = error.message;
      return null;
    }
  }

  _set(request) {
    this._form.show(request);
    this._changed(request);
  }

  _changed(request) {
    this._request = request;
    const url = `${this._page.api.root}allocation_candidates?${toQuery(request)}`;
    const call = { method: "POST", path: "allocation_candidates", body: request };
    fill(
      this._forms,
      h(
        "details",
        {},
        h("summary", {}, "As URL, JSON and curl"),
        request.order
          ? h("p", { class: "note" }, "A query string cannot state an order: send the JSON.")
          : [h("p", {}, h("code", {}, url)), copyButton("Copy URL", url)],
        copyButton("Copy JSON", JSON.stringify(request, null, 2)),
        copyButton("Copy curl", () => this._page.api.curl(call)),
        h("pre", { tabindex: "0" }, JSON.stringify(request, null, 2)),
      ),
    );
  }

  // On a small screen, the answer is below the form.
  async _ask({ reveals = false } = {}) {
    replace(address("ask", "", { request: JSON.stringify(this._request) }));
    fill(this._answer, h("p", { class: "state" }, h("progress"), " Searching…"));
    const body = await this._candidates();
    const { allocation_requests: candidates, explanation } = body;
    const number = candidates.length ? count(candidates.length, "candidate") : "No candidates";
    announce(number);
    this._drawing = h("div", { class: "drawing", "aria-live": "polite" });
    const limited = this._request.limit && candidates.length === this._request.limit;
    const cards = candidates.slice(0, MOST_CARDS).map((candidate, index) =>
      this._card(candidate, index, body.provider_summaries)
    );
    fill(
      this._answer,
      h("h2", {}, limited ? `${number}, and perhaps more` : number),
      explanation
        ? null
        : h("p", { class: "note" }, "Your role does not allow you to see why hosts are left out."),
      this._room = h("div", { "aria-live": "polite" }),
      h("div", { class: "cards" }, cards),
      candidates.length > MOST_CARDS
        ? h("p", { class: "note" }, `The first ${MOST_CARDS} are shown.`)
        : null,
      this._drawing,
      explanation && (!candidates.length || explanation.blocked?.length)
        ? drawExplanation(explanation, this._request, {
          onTry: (request) => {
            this._try(request);
            this._answer.focus({ preventScroll: true }); // the button is gone
          },
          nameOf: (uuid) => this._page.nameOf(uuid),
        })
        : null,
    );
    if (reveals) this._answer.firstElementChild.scrollIntoView({ block: "nearest" });
    const first = this._answer.querySelector(".cards button");
    if (first) await this._light(first, candidates[0], body.provider_summaries);
    if (candidates.length) await this._tellRoom();
  }

  // A role without the right to this, or a worker that is busy, takes nothing from the candidates.
  async _tellRoom() {
    const request = this._request;
    try {
      const room = await roomFor(this._page, request);
      if (request === this._request) fill(this._room, drawRoom(room, request));
    } catch (error) {
      if (![403, 503].includes(error.status)) throw error;
    }
  }

  // Without the right to explanations, candidates are requested alone.
  async _candidates() {
    const { api, signal } = this._page;
    try {
      const request = { ...this._request, explain: "summary" };
      return await api.post("allocation_candidates", request, { signal });
    } catch (error) {
      if (error.status !== 403) throw error;
      return api.post("allocation_candidates", this._request, { signal });
    }
  }

  async _tryExample(request) {
    this._try(typeof request === "function" ? request(await this._page.learnCloud()) : request);
  }

  _try(request) {
    this._set(request);
    this._page.run(() => this._ask({ reveals: true }));
  }

  _card(candidate, index, summaries) {
    const roots = rootsOf(Object.keys(candidate.allocations), summaries);
    const button = h(
      "button",
      {
        type: "button",
        "aria-pressed": "false",
        class: "candidate",
        onclick: () => this._page.run(() => this._light(button, candidate, summaries)),
      },
      h(
        "strong",
        {},
        `${index + 1}. `,
        roots.map((root, place) => [place ? " + " : "", this._name(root)]),
      ),
      Object.entries(candidate.allocations).map(([uuid, { resources }]) =>
        h("span", {}, this._name(uuid), `: ${spelled(resources)}`)
      ),
    );
    return button;
  }

  async _light(button, candidate, summaries) {
    for (const other of this._answer.querySelectorAll(".candidate")) {
      other.setAttribute("aria-pressed", String(other === button));
    }
    const marks = new Map();
    const mark = (uuid, text) => marks.set(uuid, [...(marks.get(uuid) ?? []), text]);
    for (const [suffix, uuids] of Object.entries(candidate.mappings)) {
      for (const uuid of uuids) if (suffix) mark(uuid, `group ${suffix}`);
    }
    for (const [uuid, { resources }] of Object.entries(candidate.allocations)) {
      mark(uuid, spelled(resources));
    }
    const roots = rootsOf([...marks.keys()], summaries);
    const { api, signal } = this._page;
    const trees = await Promise.all(
      roots.map((root) =>
        api.list("resource_providers", `in_tree=${root}&include=${PARTS}`, { signal })
      ),
    );
    fill(this._drawing, trees.map((providers) => drawTree(providers, { marks })));
  }
}

function rootsOf(uuids, summaries) {
  return [...new Set(uuids.map((uuid) => summaries[uuid]?.root_provider_uuid ?? uuid))];
}
