// Groups that must be served in one subtree: a line between two groups is a rule.

import { h, svg } from "./dom.js";

const LEAST_WIDTH = 120;
const LETTER = 9; // width of a wide one
const HEIGHT = 34;
const SPACE = 36;

/** A board with the groups of a request; a line is drawn with the mouse or by choosing two. */
export class SubtreeBoard {
  /** Edit the `same_subtree` of a request in place; onChange is called after each edit. */
  constructor(request, onChange) {
    this._request = request;
    this._onChange = onChange;
    this._suffixes = Object.keys(request.groups).filter(Boolean);
    const longest = Math.max(...this._suffixes.map((suffix) => suffix.length));
    this._width = Math.max(LEAST_WIDTH, (longest + 2) * LETTER); // of a node
    this._from = null;
    this.element = h(
      "fieldset",
      { class: "board" },
      h("legend", {}, "In one subtree"),
      h(
        "p",
        {},
        "Draw a line from one group to another: both are then served below, or by, one of their ",
        "providers. By keyboard: choose one, then the other.",
      ),
      h("div", { class: "scroll" }, this._drawing()),
      this._list(),
    );
  }

  get _rules() {
    return this._request.same_subtree ?? [];
  }

  _drawing() {
    const width = this._suffixes.length * (this._width + SPACE) + SPACE;
    const height = HEIGHT + 30 + 18 * Math.max(this._rules.length, 1);
    const board = svg("svg", {
      class: "lines",
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "group",
      "aria-label": "Groups",
    });
    this._rules.forEach((rule, index) => board.append(...this._lines(rule, index)));
    this._suffixes.forEach((suffix) => board.append(this._node(suffix, board)));
    return board;
  }

  _x(suffix) {
    return SPACE + this._suffixes.indexOf(suffix) * (this._width + SPACE);
  }

  _node(suffix, board) {
    const x = this._x(suffix);
    const node = svg(
      "g",
      {
        class: "node",
        tabindex: 0,
        role: "button",
        "aria-pressed": "false",
        "aria-label": `Group ${suffix}`,
        transform: `translate(${x} 6)`,
        "data-suffix": suffix,
      },
      svg("rect", { width: this._width, height: HEIGHT, rx: 6 }),
      svg(
        "text",
        { x: this._width / 2, y: HEIGHT / 2 + 5, "text-anchor": "middle" },
        suffix,
      ),
    );
    node.addEventListener("pointerdown", (event) => this._drag(event, node, board));
    node.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      this._pick(node);
    });
    return node;
  }

  _drag(event, node, board) {
    event.preventDefault();
    node.focus();
    const corner = board.getBoundingClientRect();
    const line = svg("line", {
      class: "drawn",
      x1: this._x(node.dataset.suffix) + this._width / 2,
      y1: 6 + HEIGHT,
      x2: event.clientX - corner.left,
      y2: event.clientY - corner.top,
    });
    board.append(line);
    const move = (each) => {
      line.setAttribute("x2", each.clientX - corner.left);
      line.setAttribute("y2", each.clientY - corner.top);
    };
    const end = (each) => {
      removeEventListener("pointermove", move);
      line.remove();
      const target = document.elementFromPoint(each.clientX, each.clientY)?.closest(".node");
      if (target && target !== node) this._join(node.dataset.suffix, target.dataset.suffix);
      else if (target) this._pick(node);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end, { once: true });
  }

  _pick(node) {
    const suffix = node.dataset.suffix;
    if (this._from && this._from.dataset.suffix !== suffix) {
      this._join(this._from.dataset.suffix, suffix);
      return;
    }
    this._from = this._from ? null : node;
    node.setAttribute("aria-pressed", String(this._from !== null));
  }

  // A line to a group of an existing rule extends that rule.
  _join(one, other) {
    const rules = this._rules;
    const rule = rules.find((each) => each.of.includes(one) || each.of.includes(other));
    if (rule) rule.of = [...new Set([...rule.of, one, other])];
    else rules.push({ of: [one, other], not: [] });
    this._request.same_subtree = rules;
    this._onChange();
  }

  _lines(rule, index) {
    const y = 6 + HEIGHT + 14 + index * 18;
    const middle = (suffix) => this._x(suffix) + this._width / 2;
    const down = (suffix) => `M${middle(suffix)} ${6 + HEIGHT}V${y}`;
    const all = [...rule.of, ...(rule.not ?? [])].map(middle);
    return [
      svg("path", { class: "rule", d: `M${Math.min(...all)} ${y}H${Math.max(...all)}` }),
      ...rule.of.map((suffix) => svg("path", { class: "rule", d: down(suffix) })),
      ...(rule.not ?? []).map((suffix) => svg("path", { class: "rule outside", d: down(suffix) })),
    ];
  }

  _list() {
    return h(
      "ul",
      { class: "rules" },
      this._rules.map((rule, index) =>
        h(
          "li",
          {},
          "One subtree:",
          [...rule.of, ...(rule.not ?? [])].map((suffix) => this._side(rule, suffix)),
          h("button", {
            type: "button",
            class: "quiet",
            onclick: () => {
              this._rules.splice(index, 1);
              this._onChange();
            },
          }, "Remove this rule"),
        )
      ),
    );
  }

  _side(rule, suffix) {
    const outside = (rule.not ?? []).includes(suffix);
    const change = (event) => {
      rule.of = rule.of.filter((each) => each !== suffix);
      rule.not = (rule.not ?? []).filter((each) => each !== suffix);
      rule[event.target.value].push(suffix);
      this._onChange();
    };
    return h(
      "label",
      { class: "side" },
      suffix,
      h(
        "select",
        { onchange: change },
        h("option", { value: "of", selected: !outside }, "inside"),
        h(
          "option",
          { value: "not", selected: outside, disabled: !outside && rule.of.length === 1 },
          "outside",
        ),
      ),
    );
  }
}
