// A client of the REST API, with the token of the user of the page.

const VERSION = "placement 2.0";
const MOST_CALLS = 50; // remembered, to be copied

/** A refusal by the API; status 0: there was no answer. */
export class ApiError extends Error {
  constructor(call, status, title, detail, requestId = "") {
    super(detail || title);
    Object.assign(this, { call, status, title, detail, requestId });
  }
}

export class Api {
  /**
   * root: URL of the API, with a slash at its end.
   * askForToken: is called with why, and returns a promise of a token.
   */
  constructor(root, askForToken) {
    this.root = root;
    this.token = "";
    this.calls = []; // the latest first
    this._askForToken = askForToken;
  }

  /** Return the body of a GET.  Throws ApiError. */
  async get(path, options = {}) {
    return (await this.send("GET", path, options)).body;
  }

  /** Return all entries of a list such as consumers, in all its pages.  Throws ApiError. */
  async list(noun, query, options = {}) {
    const entries = [];
    for (let path = `${noun}?${query}`; path;) {
      const body = await this.get(path, options);
      entries.push(...body[noun]);
      path = nextPage(noun, body);
    }
    return entries;
  }

  /** Return the body of a POST that reads.  Throws ApiError. */
  async post(path, body, options = {}) {
    return (await this.send("POST", path, { ...options, body })).body;
  }

  /**
   * Send a request and return {status, body, etag}; body is null for a 304.
   *
   * options: body, a value; etag, of the answer that the caller has; signal, of an AbortController.
   * Throws ApiError; a DOMException named AbortError when the signal ended it.
   */
  async send(method, path, { body, etag, signal } = {}) {
    const call = this._remember(method, path, body);
    for (;;) {
      if (!this.token) this.token = await this._askForToken("");
      const answer = await this._fetch(call, { etag, signal });
      if (answer.status !== 401) return this._read(call, answer);
      this.token = "";
      this.token = await this._askForToken("The service refused this token. It may have expired.");
    }
  }

  async _fetch(call, { etag, signal }) {
    const headers = {
      "X-Auth-Token": this.token,
      "OpenStack-API-Version": VERSION,
      Accept: "application/json",
    };
    if (etag) headers["If-None-Match"] = etag;
    if (call.body !== undefined) headers["Content-Type"] = "application/json";
    const body = call.body === undefined ? undefined : JSON.stringify(call.body);
    try {
      return await fetch(this.root + call.path, {
        method: call.method,
        headers,
        body,
        signal,
        cache: "no-store",
      });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new ApiError(
        call,
        0,
        "No answer",
        "Is it running, and is the network up?",
      );
    }
  }

  async _read(call, answer) {
    call.status = answer.status;
    if (answer.status === 304) return { status: 304, body: null, etag: answer.headers.get("ETag") };
    const text = await answer.text();
    const body = parsed(text);
    if (!answer.ok || body === undefined) throw refusal(call, answer, body);
    return { status: answer.status, body, etag: answer.headers.get("ETag") };
  }

  _remember(method, path, body) {
    const call = { method, path, body, status: null };
    this.calls = [call, ...this.calls].slice(0, MOST_CALLS);
    return call;
  }

  /** Return a command line that sends a call; the token is left to the shell. */
  curl({ method, path, body }) {
    const words = ["curl -s"];
    if (method !== "GET") words.push(`-X ${method}`);
    words.push('-H "X-Auth-Token: $TOKEN"', `-H 'OpenStack-API-Version: ${VERSION}'`);
    if (body !== undefined) {
      words.push("-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body))}`);
    }
    words.push(quoted(this.root + path));
    return words.join(" ");
  }
}

/** Return the path of the page behind a page of a list; null behind the last. */
export function nextPage(noun, body) {
  const next = body[`${noun}_links`]?.find((link) => link.rel === "next")?.href;
  // A link holds the prefix that the service is reached by; the query is what counts.
  return next ? `${noun}${next.slice(next.indexOf("?"))}` : null;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function refusal(call, answer, body) {
  const error = body?.errors?.[0] ?? body?.error ?? {};
  const detail = error.detail ?? error.message ??
    "The answer is not from this API. Is there a proxy in between?";
  const title = error.title ?? answer.statusText ?? "";
  return new ApiError(call, answer.status, title, detail.trim(), error.request_id);
}

function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
