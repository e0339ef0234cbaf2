// All providers of the cloud, in pages as they were read.

import { nextPage } from "./api.js";
import { add, nothing } from "./capacity.js";
import { byName, sorted } from "./format.js";

const PAGE = 1000; // providers
const USUAL = ["VCPU", "PCPU", "MEMORY_MB", "DISK_GB"];
const PARTS = "include=inventories,usages,traits,aggregates";
const FIRST = `resource_providers?limit=${PAGE}&${PARTS}`;

/** The providers of the cloud by their trees. */
export class Cloud {
  constructor() {
    this.pages = []; // {path, etag, next, providers}
    this.trees = new Map(); // uuid of a root -> its providers, the root first; by the root's name
    this.known = new Map(); // uuid -> provider, also those that were deleted since
    this.complete = false; // whether all pages were read
    this._names = new Map(); // texts that many providers repeat, each kept once
    this._lists = new Map(); // and lists of them, by their text
  }

  /** The number of providers that were read. */
  get size() {
    return this.pages.reduce((sum, page) => sum + page.providers.length, 0);
  }

  /**
   * Read all pages, later only changed pages; onProgress, if given, is called after each page.
   *
   * Throws what the API throws; the pages that were read are kept.
   */
  async load(api, { signal, onProgress = () => {} }) {
    const known = new Map(this.pages.map((page) => [page.path, page]));
    const pages = [];
    for (let path = FIRST; path;) {
      const page = await this._page(api, path, known.get(path), signal);
      pages.push(page);
      path = page.next;
      this.pages = path ? [...pages, ...this.pages.slice(pages.length)] : pages;
      this._gather();
      onProgress({
        providers: this.size,
        done: !path,
      });
    }
    this.complete = true;
  }

  /** Read these trees again.  Throws what the API throws. */
  async reload(api, roots, { signal }) {
    const read = await Promise.all(
      roots.map((root) => api.list("resource_providers", `in_tree=${root}&${PARTS}`, { signal })),
    );
    const changed = new Set(roots);
    const [last] = this.pages.slice(-1);
    for (const page of this.pages) {
      const kept = page.providers.filter((provider) => !changed.has(provider.root));
      // Without its tag, a page that is no longer what the service sent is read again.
      if (page === last || kept.length < page.providers.length) page.etag = undefined;
      page.providers = kept;
    }
    // A provider that has moved is among the trees of both roots.
    const moved = new Map(read.flat().map((body) => [body.uuid, this._provider(body)]));
    last.providers.push(...moved.values());
    this._gather();
  }

  async _page(api, path, known, signal) {
    const { status, body, etag } = await api.send("GET", path, { etag: known?.etag, signal });
    if (status === 304) return known;
    return {
      path,
      etag,
      next: nextPage("resource_providers", body),
      providers: body.resource_providers.map((each) => this._provider(each)),
    };
  }

  _provider(body) {
    return {
      uuid: body.uuid,
      name: body.name,
      root: this._once(body.root_provider_uuid),
      parent: body.parent_provider_uuid && this._once(body.parent_provider_uuid),
      stocks: Object.entries(body.inventories ?? {}).map(([name, inventory]) =>
        stock(this._once(name), inventory, body.usages?.[name] ?? 0)
      ),
      traits: this._list(body.traits),
      aggregates: this._list(body.aggregates),
    };
  }

  _once(text) {
    const known = this._names.get(text);
    if (known !== undefined) return known;
    this._names.set(text, text);
    return text;
  }

  /** Return a list of names; hosts of one model have one list. */
  _list(names = []) {
    const key = names.join();
    let list = this._lists.get(key);
    if (list === undefined) this._lists.set(key, list = names.map((name) => this._once(name)));
    return list;
  }

  _gather() {
    const trees = new Map();
    for (const page of this.pages) {
      for (const provider of page.providers) {
        this.known.set(provider.uuid, provider);
        const tree = trees.get(provider.root);
        if (!tree) trees.set(provider.root, [provider]);
        else if (provider.parent) tree.push(provider);
        else tree.unshift(provider);
      }
    }
    this.trees = new Map([...trees].sort(([, [a]], [, [b]]) => byName(a.name, b.name)));
  }

  /** Return the providers whose names contain a text; of a tree whose root does, only the root. */
  find(text) {
    const contains = (provider) => provider.name.toLowerCase().includes(text.toLowerCase());
    return sorted(
      [...this.trees.values()].flatMap((tree) =>
        contains(tree[0]) ? [tree[0]] : tree.filter(contains)
      ),
    );
  }

  /** Return the names of all classes that some provider has: the usual ones, then by providers. */
  classes() {
    const providers = new Map();
    for (const stock of this._stocks()) {
      providers.set(stock.name, (providers.get(stock.name) ?? 0) + 1);
    }
    const rank = (name) => (USUAL.includes(name) ? USUAL.indexOf(name) : USUAL.length);
    const order = (a, b) =>
      rank(a) - rank(b) || providers.get(b) - providers.get(a) || byName(a, b);
    return [...providers.keys()].sort(order);
  }

  /** Return the class that most hosts use and have: the one worth looking at first. */
  mostUsed() {
    const users = new Map();
    const owners = new Map();
    const count = (hosts, name) => hosts.set(name, (hosts.get(name) ?? 0) + 1);
    for (const root of this.trees.keys()) {
      const stocks = [...this._stocksOf(root)];
      for (const name of new Set(stocks.map((stock) => stock.name))) count(owners, name);
      const used = stocks.filter((stock) => stock.used > 0);
      for (const name of new Set(used.map((stock) => stock.name))) count(users, name);
    }
    const order = (a, b) =>
      (users.get(b) ?? 0) - (users.get(a) ?? 0) || owners.get(b) - owners.get(a);
    return this.classes().sort(order)[0] ?? "";
  }

  /** Return class -> what all providers of these trees have of it together. */
  totals(roots = this.trees.keys()) {
    const sums = new Map();
    for (const root of roots) {
      for (const stock of this._stocksOf(root)) {
        if (!sums.has(stock.name)) sums.set(stock.name, nothing());
        add(sums.get(stock.name), stock.inventory, stock.used);
      }
    }
    return sums;
  }

  /** Return what a tree has of one class; null where it has none. */
  sum(root, name) {
    const sum = nothing();
    for (const stock of this._stocksOf(root)) {
      if (stock.name === name) add(sum, stock.inventory, stock.used);
    }
    return sum.providers ? sum : null;
  }

  *_stocksOf(root) {
    for (const provider of this.trees.get(root) ?? []) yield* provider.stocks;
  }

  *_stocks() {
    for (const root of this.trees.keys()) yield* this._stocksOf(root);
  }
}

function stock(name, inventory, used) {
  const { total, reserved, allocation_ratio, min_unit, max_unit, step_size } = inventory;
  return {
    name,
    used,
    inventory: { total, reserved, allocation_ratio, min_unit, max_unit, step_size },
  };
}
