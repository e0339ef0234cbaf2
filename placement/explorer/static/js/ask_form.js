// The form that builds a request, group by group. It edits the request's JSON form.

import { field, fill, h, redraw } from "./dom.js";
import { preferences, withCompleteKeys } from "./preferences.js";
import { SubtreeBoard } from "./subtree_board.js";
import { tokens } from "./tokens.js";

const REQUIRED = ["required", "Required traits", "traits"];
const RARE_LISTS = [
  ["forbidden", "Forbidden traits", "traits"],
  ["member_of", "In aggregates", null],
  ["not_member_of", "Not in aggregates", null],
];
const RARE = ["forbidden", "member_of", "not_member_of", "in_tree", "subtree", "can_split"];

/** Edit a request in an element; onChange receives the request after each change. */
export class AskForm {
  constructor(element, onChange) {
    this._element = element;
    this._onChange = onChange;
  }

  /** Show this request. */
  show(request) {
    this._request = structuredClone(request);
    this._draw();
  }

  _change(drawsAgain = false) {
    tidy(this._request);
    // A field changes before the key that leaves it has moved the focus.
    if (drawsAgain) setTimeout(() => redraw(this._element, () => this._draw()));
    this._onChange(withCompleteKeys(structuredClone(this._request)));
  }

  _draw() {
    const request = this._request;
    const suffixes = Object.keys(request.groups);
    fill(
      this._element,
      suffixes.map((suffix) => this._group(suffix)),
      h("p", {}, h("button", { type: "button", onclick: () => this._addGroup() }, "Add a group")),
      suffixes.filter(Boolean).length > 1
        ? new SubtreeBoard(request, () => this._change(true)).element
        : null,
      this._root(),
      preferences(request, () => this._change()),
      h(
        "div",
        { class: "controls" },
        field(
          "Maximum number of candidates",
          h("input", {
            type: "number",
            min: 1,
            value: request.limit ?? "",
            onchange: (event) =>
              this._set(request, "limit", Number(event.target.value) || undefined),
          }),
        ),
      ),
    );
  }

  _group(suffix) {
    const group = this._request.groups[suffix];
    const title = suffix ? `Group ${suffix}` : "Unsuffixed group";
    const lone = Object.keys(this._request.groups).length === 1;
    const rename = (event) => this._rename(suffix, event.target);
    return h(
      "fieldset",
      {},
      h("legend", {}, title),
      suffix ? field("Suffix", h("input", { value: suffix, size: 22, onchange: rename })) : null,
      this._resources(group, suffix),
      this._lists(group, [REQUIRED]),
      suffix ? this._isolated(suffix) : null,
      h(
        "details",
        { open: RARE.some((member) => group[member]?.length) },
        h("summary", {}, "More conditions"),
        this._lists(group, RARE_LISTS),
        h(
          "div",
          { class: "controls" },
          this._uuid(group, "in_tree", "In the tree of"),
          this._uuid(group, "subtree", "At or below"),
          suffix ? null : this._splits(group),
        ),
      ),
      lone ? null : h(
        "button",
        { type: "button", class: "quiet", onclick: () => this._remove(suffix) },
        suffix ? `Remove group ${suffix}` : "Remove",
      ),
    );
  }

  _lists(terms, lists) {
    return lists.map(([member, label, options]) => {
      const onChange = (values) => this._set(terms, member, values);
      return tokens(label, terms[member] ?? [], { options, onChange });
    });
  }

  _uuid(group, member, label) {
    const input = h("input", {
      value: group[member] ?? "",
      size: 38,
      spellcheck: "false",
      placeholder: "UUID of a provider",
      onchange: (event) => this._set(group, member, event.target.value.trim()),
    });
    return field(label, input);
  }

  _resources(group, suffix) {
    const row = ([name, units]) => {
      return h(
        "div",
        { class: "resource" },
        h("input", {
          value: name,
          list: "classes",
          "aria-label": "Resource class",
          size: 22,
          spellcheck: "false",
          onchange: (event) => this._renameClass(group, name, event.target.value.trim()),
        }),
        h("input", {
          value: units,
          type: "number",
          min: 1,
          "aria-label": `Amount of ${name || "the class"}`,
          onchange: (event) => {
            group.resources[name] = Number(event.target.value);
            this._change();
          },
        }),
        h("button", {
          type: "button",
          class: "quiet",
          "aria-label": `Remove ${name}`,
          onclick: () => {
            delete group.resources[name];
            this._change(true);
          },
        }, "×"),
      );
    };
    return h(
      "div",
      { class: "resources", role: "group", "aria-label": "Resources" },
      Object.entries(group.resources ?? {}).map(row),
      h("button", {
        type: "button",
        class: "quiet",
        onclick: () => {
          (group.resources ??= {})[""] ??= 1;
          this._draw();
          this._focus(suffix, ".resource:last-of-type input");
        },
      }, "Add a resource"),
    );
  }

  _renameClass(group, before, now) {
    group.resources = renamedKey(group.resources, before, now);
    this._change(true);
  }

  _isolated(suffix) {
    const request = this._request;
    const checked = request.isolate?.includes(suffix) || request.group_policy === "isolate";
    const toggle = (event) => {
      const all = request.group_policy === "isolate"
        ? Object.keys(request.groups).filter(Boolean)
        : request.isolate ?? [];
      delete request.group_policy;
      request.isolate = event.target.checked
        ? [...new Set([...all, suffix])]
        : all.filter((each) => each !== suffix);
      this._change();
    };
    return h(
      "label",
      { class: "check" },
      h("input", { type: "checkbox", checked, onchange: toggle }),
      " isolated: shares its provider with no other group",
    );
  }

  _splits(group) {
    const names = Object.keys(group.resources ?? {}).filter(Boolean);
    return names.map((name) =>
      h(
        "label",
        { class: "check" },
        h("input", {
          type: "checkbox",
          checked: group.can_split?.includes(name),
          onchange: (event) => {
            const others = (group.can_split ?? []).filter((each) => each !== name);
            this._set(group, "can_split", event.target.checked ? [...others, name] : others);
          },
        }),
        ` ${name} may come from several providers`,
      )
    );
  }

  _root() {
    const root = (this._request.root ??= {});
    const used = Object.values(root).some((terms) => terms.length);
    return h(
      "details",
      { open: used },
      h("summary", {}, "The root of the tree"),
      this._lists(root, [REQUIRED, ...RARE_LISTS]),
    );
  }

  _set(holder, member, value) {
    holder[member] = value;
    this._change();
  }

  _addGroup() {
    let number = 1;
    while (`_${number}` in this._request.groups) number += 1;
    const suffix = `_${number}`;
    this._request.groups[suffix] = { resources: {} };
    this._draw();
    this._focus(suffix, "input");
  }

  _focus(suffix, selector) {
    const index = Object.keys(this._request.groups).indexOf(suffix);
    this._element.children[index].querySelector(selector).focus();
  }

  _remove(suffix) {
    delete this._request.groups[suffix];
    this._renameEverywhere(suffix, null);
    this._change(true);
  }

  _rename(before, input) {
    const now = input.value.trim();
    const bad = !/^[A-Za-z0-9_-]{1,64}$/.test(now) ||
      (now !== before && now in this._request.groups);
    input.setCustomValidity(bad ? "A suffix of its own: letters, digits, _ and -." : "");
    if (!input.reportValidity()) return;
    this._request.groups = renamedKey(this._request.groups, before, now);
    this._renameEverywhere(before, now);
    this._change(true);
  }

  _renameEverywhere(before, now) {
    const renamed = (suffixes = []) => {
      const all = suffixes.map((suffix) => (suffix === before ? now : suffix));
      return all.filter((suffix) => suffix !== null);
    };
    this._request.isolate = renamed(this._request.isolate);
    this._request.same_subtree = (this._request.same_subtree ?? []).map((rule) => ({
      of: renamed(rule.of),
      not: renamed(rule.not),
    }));
  }
}

// Members keep their order, and with it their place on the page.
function renamedKey(object, before, now) {
  const entries = Object.entries(object);
  return Object.fromEntries(entries.map(([key, value]) => [key === before ? now : key, value]));
}

/** Remove empty members from a request. */
function tidy(request) {
  for (const group of Object.values(request.groups)) {
    if (group.resources) delete group.resources[""];
    prune(group);
  }
  request.same_subtree = (request.same_subtree ?? []).filter((rule) => rule.of.length);
  prune(request.root ?? {});
  prune(request);
}

function prune(terms) {
  for (const [member, value] of Object.entries(terms)) {
    const empty = value === undefined || value === "" ||
      (typeof value === "object" && !Object.keys(value).length);
    if (empty && member !== "groups") delete terms[member];
  }
}
