// The page: its views, the token of the user, and the display of errors.

import { Api, ApiError } from "./api.js";
import { Cloud } from "./cloud_model.js";
import { copyButton, field, fill, h } from "./dom.js";
import { brief } from "./format.js";
import { read } from "./state.js";
import { AskView } from "./views/ask.js";
import { CloudView } from "./views/cloud.js";
import { ConsumerView } from "./views/consumer.js";
import { TreeView } from "./views/tree.js";

const VIEWS = { cloud: CloudView, tree: TreeView, ask: AskView, consumer: ConsumerView };
const TRUSTING = "admin"; // the token of a service that guards nothing

const main = document.getElementById("main");
const guarded = document.querySelector("meta[name=placement-guard]").content !== "noauth2";

const page = {
  // The path of the page is one level below the API, with any prefix of a proxy.
  api: new Api(new URL("../", document.baseURI).href, askForToken),
  cloud: new Cloud(),
  signal: null,

  /** Run an action, and show its error if it fails. */
  async run(action) {
    const signal = this.signal;
    main.querySelector(".fault")?.remove();
    try {
      await action();
    } catch (error) {
      if (error.name !== "AbortError" && signal === this.signal) showFault(error);
    }
  },

  /** Return the name of a provider, where the page has it. */
  nameOf(uuid) {
    return this.cloud.known.get(uuid)?.name ?? brief(uuid);
  },

  /** Return the cloud, which may be large, as it was read last. */
  async learnCloud() {
    const { api, cloud, signal } = this;
    if (!cloud.complete) await cloud.load(api, { signal });
    return cloud;
  },

  /** Write the names of providers into an element. */
  async learnNames(element) {
    await this.learnCloud();
    for (const name of element.querySelectorAll("[data-uuid]")) {
      fill(name, this.nameOf(name.dataset.uuid));
    }
  },
};

let controller = new AbortController();
let view = null;

function route() {
  controller.abort();
  controller = new AbortController();
  page.signal = controller.signal;
  view?.hide?.();
  const place = read(location.hash);
  const name = Object.hasOwn(VIEWS, place.view) ? place.view : "cloud";
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${name[0].toUpperCase()}${name.slice(1)} · Placement explorer`;
  const element = h("div", { class: `view ${name}` });
  const hadFocus = main.contains(document.activeElement);
  fill(main, element);
  if (hadFocus) main.focus(); // the element that led here is gone
  scrollTo(0, 0); // the browser keeps the position of the view before
  view = new VIEWS[name](page, element);
  page.run(() => view.show(place));
  catalogue().catch(() => {}); // without the lists, only the completion of names is missing
}

// Errors are shown above the present content, which is kept.
function showFault(error) {
  const known = error instanceof ApiError;
  const again = h("button", { type: "button", onclick: route }, "Try again");
  main.querySelector(".fault")?.remove();
  main.prepend(
    h(
      "section",
      { class: "fault", role: "alert" },
      h("h2", {}, known ? titleOf(error) : "The page has a fault"),
      h("p", {}, known ? error.detail : String(error)),
      known && error.call
        ? h(
          "p",
          {},
          h("code", {}, `${error.call.method} /${error.call.path}`),
          error.requestId ? ` Request id: ${error.requestId}` : "",
        )
        : null,
      again,
    ),
  );
  main.firstElementChild.scrollIntoView({ block: "nearest" });
  for (const state of main.querySelectorAll(".state progress:not([hidden])")) {
    state.parentElement.replaceChildren("Stopped.");
  }
}

function titleOf({ status, title }) {
  if (status === 401) return title;
  if (status === 0) return "The service does not answer";
  if (status === 403) return "Your role does not allow this";
  if (status === 404) return "Not there, or no longer";
  if (status >= 500) return "The service has failed";
  return `${status} ${title}`;
}

// -- the token --------------------------------------------------------------------------------

const tokenDialog = document.getElementById("token-dialog");
let asking = null;

/** Return a promise of a token; several that wait for one get the same. */
function askForToken(reason) {
  if (!guarded && !reason) return Promise.resolve(TRUSTING);
  asking ??= tokenFromUser(reason).finally(() => {
    asking = null;
  });
  return asking;
}

function tokenFromUser(reason) {
  return new Promise((resolve, reject) => {
    // Characters allowed in a header; with others, the request fails without an answer.
    const input = h("input", {
      type: "password",
      required: true,
      pattern: "\\s*[!-~]+\\s*",
      title: "letters, digits and signs, as openstack prints them",
      autocomplete: "off",
      size: 40,
      spellcheck: "false",
    });
    const form = h(
      "form",
      { method: "dialog", onsubmit: () => resolve(input.value.trim()) },
      h("h2", { id: "token-title" }, "Token"),
      reason ? h("p", { class: "problem", role: "alert" }, reason) : null,
      h(
        "p",
        {},
        "The page shows what this token may see. ",
        h("code", {}, "openstack token issue -f value -c id"),
        " prints one. It is kept in this tab's memory alone.",
      ),
      field("Token", input),
      h(
        "p",
        {},
        h("button", { class: "main" }, "Use it"),
        " ",
        h("button", { type: "button", onclick: () => tokenDialog.close() }, "Cancel"),
      ),
    );
    fill(tokenDialog, form);
    tokenDialog.addEventListener(
      "close",
      () =>
        reject(new ApiError(null, 401, "No token", "Without a token, the page sends no requests.")),
      { once: true },
    );
    if (!tokenDialog.open) tokenDialog.showModal();
    input.focus();
  });
}

document.getElementById("token-button").addEventListener("click", async () => {
  const token = await tokenFromUser("").catch(() => null); // closing the dialog keeps the token
  if (token === null) return;
  page.api.token = token;
  page.cloud = new Cloud();
  route();
});

// -- requests sent ----------------------------------------------------------------------------

const callsDialog = document.getElementById("calls-dialog");

document.getElementById("calls-button").addEventListener("click", () => {
  fill(
    callsDialog,
    h("h2", { id: "calls-title" }, "REST calls"),
    h(
      "p",
      {},
      "The requests of this page, the latest first. The commands read the token from ",
      h("code", {}, "$TOKEN"),
      ".",
    ),
    h(
      "ol",
      { class: "calls" },
      page.api.calls.map((call) =>
        h(
          "li",
          {},
          h("code", {}, `${call.method} /${call.path}`),
          ` ${call.status ?? "…"} `,
          copyButton("Copy curl", () => page.api.curl(call)),
        )
      ),
    ),
    h("form", { method: "dialog" }, h("button", { class: "main" }, "Close")),
  );
  callsDialog.showModal();
});

// -- names that are completed -----------------------------------------------------------------

let hasCatalogue = false;

async function catalogue() {
  if (hasCatalogue) return;
  const [classes, traits] = await Promise.all([
    page.api.get("resource_classes"),
    page.api.get("traits"),
  ]);
  if (hasCatalogue) return; // read by another view
  hasCatalogue = true;
  const options = (id, names) =>
    h("datalist", { id }, names.map((name) => h("option", { value: name })));
  document.body.append(
    options("classes", classes.resource_classes.map((each) => each.name)),
    options("traits", traits.traits),
  );
}

// The address belongs to the views, so the link moves only the focus.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
addEventListener("hashchange", route);
route();
