// The cloud: all hosts as tiles, coloured by how much of a class is used; and totals by class.

import { share } from "../capacity.js";
import { CloudMap } from "../cloud_map.js";
import * as colours from "../colours.js";
import { announce, field, fill, h, redraw } from "../dom.js";
import { brief, byName, count, percent, whole } from "../format.js";
import { Follower } from "../follower.js";
import { hostList, ROOM_COLUMNS, USE_COLUMNS } from "../host_list.js";
import { legend, roomLegend } from "../legend.js";
import { parse, RequestError, toQuery } from "../request.js";
import { roomOfHosts, withoutPreferences } from "../room.js";
import { totalsTable } from "../totals.js";
import { address, replace } from "../state.js";

const SIZES = [6, 10, 14, 20, 28, 40, 56, 88];
const REFRESH = 30_000; // milliseconds
const FEW = 50; // trees that are read one by one
const ROOM = "?"; // choice of colours; is no name of a class
const BETWEEN_DRAWINGS = 700; // milliseconds, while pages come in
const NARROW = matchMedia("(max-width: 40rem)"); // as in the style sheet

/** Show the cloud in an element. */
export class CloudView {
  constructor(page, element) {
    this._page = page;
    this._element = element;
    this._matching = null; // roots that the filter lets through; null: all
    this._map = new CloudMap({
      onMove: (tile, byKey) => this._tell(tile, byKey),
      onChoose: (tile) => {
        location.hash = address("tree", tile.root);
      },
    });
  }

  /** Begin with the parameters of the address, and load what is not there yet. */
  async show({ parameters }) {
    this._choices = {
      class: parameters.get("class") ?? "",
      group: parameters.get("group") ?? "",
      trait: parameters.get("trait") ?? "",
      filter: parameters.get("filter") ?? "",
      size: parameters.get("size") ?? "",
      as: parameters.get("as") ?? "",
      request: readable(parameters.get("request") ?? ""),
    };
    // root -> how many of the request it takes; empty until known; null: not coloured by it
    this._room = this._choices.request && !this._choices.class ? new Map() : null;
    this._build();
    this._resized = new ResizeObserver(() => this._map.redraw());
    this._resized.observe(this._stage);
    colours.onChange(() => this._map.redraw());
    NARROW.addEventListener("change", () => this._fold(), { signal: this._page.signal });
    const known = this._page.cloud.trees.size > 0;
    if (known) this._draw();
    if (known) this._reveal();
    await this._load();
    if (!known) this._reveal();
    if (this._choices.filter) await this._filter();
    if (this._room) await this._learnRoom();
    // While changes are followed, too: a host that was listed and deleted between two numberings of
    // changes is in none of them.
    this._timer = setInterval(() => document.hidden || this._load().catch(() => {}), REFRESH);
  }

  /** Stop background work. */
  hide() {
    clearInterval(this._timer);
    this._follower?.stop();
    this._resized?.disconnect();
  }

  _build() {
    this._progress = h("progress", { "aria-label": "Loading providers" });
    this._loaded = h("span", {}, "Loading…");
    this._state = h("p", { class: "state" });
    this._classes = h("select", {
      onchange: (event) => this._chooseColours(event.target.value),
    });
    this._detail = h(
      "p",
      { class: "detail", "aria-live": "polite" },
      "Point at a host, or move to it with the arrow keys.",
    );
    this._stage = h("div", { class: "stage" });
    this._totals = h("section", { class: "totals", "aria-labelledby": "totals-title" });
    this._legend = h("div", { class: "legend" });
    this._asked = asked(this._choices.request);
    fill(
      this._element,
      h(
        "div",
        { class: "title" },
        h("h1", {}, "Cloud"),
        this._state,
        h(
          "button",
          { type: "button", onclick: () => this._page.run(() => this._load()) },
          "Refresh",
        ),
        h(
          "label",
          { class: "check" },
          this._live = h("input", { type: "checkbox", onchange: () => this._toggleLive() }),
          " Follow live",
        ),
      ),
      this._options = h(
        "details",
        { class: "options" },
        h("summary", {}, "Options"),
        h("div", { class: "controls" }, this._controls()),
      ),
      this._picture = h("div", {}, this._asked, this._legend, this._detail, this._stage),
      this._totals,
    );
    this._fold();
  }

  // A small screen would show nothing but the controls.
  _fold() {
    this._options.open = !NARROW.matches;
  }

  // A user who comes for the room of a request sees it, also where controls fill the screen.
  _reveal() {
    if (!this._asked.hidden) this._picture.scrollIntoView({ block: "nearest" });
  }

  _controls() {
    const choices = this._choices;
    const chosen = (value, options) =>
      options.map(([each, text]) => h("option", { value: each, selected: each === value }, text));
    return [
      field("Coloured by", this._classes),
      field(
        "Grouped by",
        h(
          "select",
          { onchange: (event) => this._choose({ group: event.target.value }) },
          chosen(choices.group, [["", "nothing"], ["aggregate", "aggregate"], ["trait", "trait"]]),
        ),
      ),
      field(
        "Trait",
        h("input", {
          list: "traits",
          value: choices.trait,
          size: 24,
          onchange: (event) => this._choose({ trait: event.target.value.trim(), group: "trait" }),
        }),
      ),
      field(
        "Tiles",
        h(
          "select",
          { onchange: (event) => this._choose({ size: event.target.value }) },
          chosen(choices.size, [
            ["", "fitting"],
            ...SIZES.map((size) => [String(size), `${size} px`]),
          ]),
        ),
      ),
      field(
        "Shown as",
        h("select", {
          onchange: (event) => this._choose({ as: event.target.value }),
        }, chosen(choices.as, [["", "map"], ["list", "list"]])),
      ),
      h(
        "form",
        {
          class: "filter",
          onsubmit: (event) => {
            event.preventDefault();
            this._page.run(() => this._setFilter(this._filterInput.value.trim()));
          },
        },
        field(
          "Filter (a part of a name, or a query of GET /resource_providers)",
          this._filterInput = h("input", {
            value: choices.filter,
            size: 40,
            placeholder: "resources=VCPU:4&required=HW_CPU_X86_AVX2",
            spellcheck: "false",
          }),
        ),
        h("button", {}, "Filter"),
      ),
    ];
  }

  async _load() {
    fill(this._state, this._progress, " ", this._loaded); // an error may have replaced them
    this._progress.hidden = false;
    this._progress.removeAttribute("value");
    performance.mark("cloud:begun");
    await this._page.cloud.load(this._page.api, {
      signal: this._page.signal,
      onProgress: ({ providers, done }) => {
        const when = done ? ` · ${new Date().toLocaleTimeString("en-GB")}` : " so far…";
        this._loaded.textContent = `${count(providers, "provider")}${when}`;
        // The first page is drawn at once, later ones when there is time, and the last always.
        if (done || this._due()) {
          performance.mark("cloud:read");
          this._draw();
          requestAnimationFrame(() => performance.mark(done ? "cloud:whole" : "cloud:painted"));
        }
      },
    });
    this._progress.hidden = true;
  }

  _toggleLive() {
    this._follower?.stop();
    this._follower = null;
    if (!this._live.checked) return;
    const follower = this._follower = new Follower(this._page, {
      onList: () => this._load(),
      onChanges: (changes) => this._apply(changes),
    });
    this._page.run(() =>
      follower.start().finally(() => {
        if (this._follower !== follower) return;
        this._follower = null;
        this._live.checked = false;
      })
    );
  }

  async _apply(changes) {
    const roots = changes.map(({ uuid }) => uuid);
    if (roots.length > FEW) return this._load();
    const { api, cloud, signal } = this._page;
    await cloud.reload(api, roots, { signal });
    const when = new Date().toLocaleTimeString("en-GB");
    this._loaded.textContent = `${count(cloud.size, "provider")} · ${when}`;
    this._draw();
  }

  _due() {
    return performance.now() - (this._drawn ?? -Infinity) > BETWEEN_DRAWINGS;
  }

  _choose(choices) {
    Object.assign(this._choices, choices);
    replace(address("cloud", "", this._choices));
    this._draw();
  }

  _chooseColours(name) {
    this._room = name === ROOM ? new Map() : null;
    this._choose({ class: name === ROOM ? "" : name });
    if (name === ROOM) this._page.run(() => this._learnRoom());
  }

  async _learnRoom() {
    const cloud = this._page.cloud;
    const request = parse(this._choices.request);
    await roomOfHosts(this._page, request, cloud.trees, (room) => {
      if (!this._room) return; // coloured by a class since
      this._room = room;
      this._draw();
    });
  }

  async _setFilter(filter) {
    this._choices.filter = filter;
    replace(address("cloud", "", this._choices));
    await this._filter();
  }

  async _filter() {
    const filter = this._choices.filter.replace(/^\?/, "");
    this._matching = null;
    if (filter) {
      const { api, cloud, signal } = this._page;
      const roots = filter.includes("=")
        ? (await api.list("resource_providers", filter, { signal }))
          .map((provider) => provider.root_provider_uuid)
        : cloud.find(filter).map((provider) => provider.root);
      this._matching = new Set(roots);
      announce(`${count(this._matching.size, "tree")} match the filter`);
    }
    this._draw();
  }

  _draw() {
    this._drawn = performance.now();
    const cloud = this._page.cloud;
    const classes = cloud.classes();
    const name = classes.includes(this._choices.class) ? this._choices.class : cloud.mostUsed();
    fill(
      this._classes,
      this._choices.request
        ? h("option", { value: ROOM, selected: this._room !== null }, "room for the request")
        : null,
      classes.map((each) =>
        h("option", { value: each, selected: !this._room && each === name }, `use of ${each}`)
      ),
    );
    this._asked.hidden = !this._room;
    const largest = Math.max(1, ...(this._room?.values() ?? []));
    const tiles = [...cloud.trees.keys()].map((root) =>
      this._room ? this._roomTile(root, largest) : this._tile(root, name)
    );
    const totals = cloud.totals(
      this._matching ? [...this._matching].filter((root) => cloud.trees.has(root)) : undefined,
    );
    fill(
      this._totals,
      h(
        "h2",
        { id: "totals-title" },
        this._matching
          ? `Totals of ${count(this._matching.size, "tree")} that match the filter`
          : "Totals",
      ),
      totals.size ? totalsTable(this._page, totals) : h("p", { class: "state" }, "No inventories."),
    );
    this._detail.hidden = this._choices.as === "list" || !cloud.trees.size;
    if (!cloud.trees.size) {
      fill(
        this._stage,
        h(
          "p",
          { class: "empty" },
          "No resource providers yet. Load the demonstration cloud, or let an agent report ",
          "a host; then refresh.",
        ),
      );
      fill(this._legend);
      return;
    }
    if (this._choices.as === "list") {
      const rows = this._stage.querySelectorAll("tbody tr").length;
      const [columns, by] = this._room
        ? [ROOM_COLUMNS, "room for the request"]
        : [USE_COLUMNS, `use of ${name}`];
      const list = () => hostList(this._page, tiles, columns, { by, rows });
      redraw(this._stage, () => fill(this._stage, list()));
    }
    const shown = tiles.filter((tile) => !tile.dimmed);
    const top = this._room ? 1 : colours.topOf(shown.map((tile) => tile.share));
    if (this._choices.as !== "list") this._drawMap(tiles, top);
    fill(
      this._legend,
      ...(this._room ? roomLegend(this._room, largest, tiles.length) : legend(name, tiles, top)),
    );
  }

  _drawMap(tiles, top) {
    if (this._map.canvas.parentElement !== this._stage) fill(this._stage, this._map.canvas);
    const size = Number(this._choices.size) || fitting(tiles.length, this._stage.clientWidth);
    this._map.show(this._groups(tiles), size, top);
  }

  _tile(root, name) {
    const sum = this._page.cloud.sum(root, name);
    return {
      root,
      name: this._page.nameOf(root),
      sum,
      share: sum && share(sum),
      text: sum ? percent(share(sum)) : "none",
      dimmed: this._matching !== null && !this._matching.has(root),
    };
  }

  _roomTile(root, largest) {
    const number = this._room.get(root);
    return {
      ...this._tile(root, ""),
      room: number,
      share: number === undefined ? null : number / largest,
      text: number === undefined ? "" : whole(number),
    };
  }

  _groups(tiles) {
    if (!this._choices.group) return [{ title: "", tiles }];
    const groups = new Map();
    for (const tile of tiles) {
      for (const title of this._titles(tile.root)) {
        if (!groups.has(title)) groups.set(title, { title, tiles: [] });
        groups.get(title).tiles.push(tile);
      }
    }
    const order = (a, b) => b.tiles.length - a.tiles.length || byName(a.title, b.title);
    return [...groups.values()].sort(order);
  }

  _titles(root) {
    const providers = this._page.cloud.trees.get(root);
    if (this._choices.group === "aggregate") {
      const aggregates = new Set(providers.flatMap((provider) => provider.aggregates));
      return aggregates.size
        ? [...aggregates].map((uuid) => `aggregate ${uuid}`)
        : ["in no aggregate"];
    }
    const trait = this._choices.trait;
    if (!trait) return ["name a trait above"];
    return [
      providers.some((provider) => provider.traits.includes(trait))
        ? `with ${trait}`
        : `without ${trait}`,
    ];
  }

  _tell(tile, byKey) {
    if (!tile) return;
    const [provider, ...others] = this._page.cloud.trees.get(tile.root);
    const room = this._room?.get(tile.root);
    const use = this._room
      ? room === undefined ? "not measured" : `takes ${whole(room)} of the request`
      : tile.sum
      ? useOf(tile.sum)
      : "no inventory of this class";
    const tree = others.length ? `, ${count(others.length + 1, "provider")}` : "";
    this._detail.setAttribute("aria-live", byKey ? "polite" : "off");
    fill(this._detail, h("strong", {}, provider.name), ` ${brief(provider.uuid)}${tree}: ${use}`);
  }
}

function asked(request) {
  if (!request) return h("p", { hidden: true });
  const query = toQuery(withoutPreferences(parse(request)));
  return h(
    "p",
    { class: "asked", hidden: true },
    "Room for the request ",
    h("code", {}, query),
    " ",
    h("a", { href: address("ask", "", { request }) }, "Change the request"),
  );
}

// An address that was cut shows the cloud without the request.
function readable(text) {
  try {
    if (text) parse(text);
    return text;
  } catch (error) {
    if (error instanceof RequestError) return "";
    throw error;
  }
}

function useOf(sum) {
  const used = `${whole(sum.used)} of ${whole(sum.capacity)} used (${percent(share(sum))})`;
  return `${used}, ${whole(sum.free)} free`;
}

/** Return the largest size at which so many tiles fill about a screen. */
function fitting(tiles, width) {
  const fits = (size) => {
    const columns = Math.max(1, Math.floor(width / size));
    return Math.ceil(tiles / columns) * size <= 560;
  };
  return SIZES.findLast(fits) ?? SIZES[0];
}
