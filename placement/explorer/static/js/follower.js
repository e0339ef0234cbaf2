// The feed of changed trees, polled while the page is visible.

const BETWEEN_POLLS = 1000; // milliseconds
const EXPIRED = 410;

/** Follow the changes of the cloud; all callbacks return promises. */
export class Follower {
  /**
   * onList: everything is to be read, at the start and after an expired cursor.
   * onChanges: receives changes of the API, [{uuid, gone}].
   */
  constructor(page, { onList, onChanges }) {
    this._page = page;
    this._onList = onList;
    this._onChanges = onChanges;
  }

  /** Follow until `stop`.  Throws what the API throws. */
  async start() {
    this._stopped = false;
    await this._list();
    while (!this._stopped) {
      await new Promise((resolve) => setTimeout(resolve, BETWEEN_POLLS));
      if (!this._stopped && !document.hidden) await this._poll();
    }
  }

  /** Send no more requests. */
  stop() {
    this._stopped = true;
  }

  // The cursor is older than the list, so that no change is missed between them.
  async _list() {
    this._cursor = (await this._get("changes")).cursor;
    await this._onList();
  }

  async _poll() {
    try {
      const answer = await this._get(`changes?since=${encodeURIComponent(this._cursor)}`);
      if (answer.changes.length) await this._onChanges(answer.changes);
      this._cursor = answer.cursor;
    } catch (error) {
      if (error.status !== EXPIRED) throw error;
      await this._list();
    }
  }

  _get(path) {
    const { api, signal } = this._page;
    return api.get(path, { signal });
  }
}
