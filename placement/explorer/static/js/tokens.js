// A field that holds several names, each a chip that can be removed.

import { fill, h } from "./dom.js";

/**
 * Make such a field.
 *
 * values: names; a list among them is "any of", typed as "A or B". options: id of a <datalist>.
 * onChange receives the new values.
 */
export function tokens(label, values, { options = null, onChange }) {
  const chips = h("ul", { class: "chips" });
  const input = h("input", {
    "aria-label": `${label}: add`,
    list: options,
    size: 22,
    spellcheck: "false",
    placeholder: "add…",
  });
  const change = (next) => {
    values = next;
    draw();
    onChange(values);
  };
  const add = () => {
    const names = input.value.split(",").map(read).filter((name) => name.length);
    input.value = "";
    if (names.length) change([...values, ...names]);
  };
  const draw = () =>
    fill(
      chips,
      values.map((value, index) =>
        h(
          "li",
          {},
          text(value),
          h("button", {
            type: "button",
            class: "quiet",
            "aria-label": `Remove ${text(value)}`,
            onclick: () => {
              change(values.filter((_, each) => each !== index));
              input.focus();
            },
          }, "×"),
        )
      ),
    );
  input.addEventListener("change", add);
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== ",") return;
    event.preventDefault();
    add();
  });
  draw();
  return h(
    "div",
    { class: "tokens", role: "group", "aria-label": label },
    h("span", { class: "label" }, label),
    chips,
    input,
  );
}

function read(text) {
  const names = text.split(/\s+or\s+|\|/).map((name) => name.trim()).filter(Boolean);
  return names.length > 1 ? names : names[0] ?? "";
}

function text(value) {
  return Array.isArray(value) ? value.join(" or ") : value;
}
