// The current view and its parameters are in the address, which can be shared.

/** Return {view, path, parameters} of an address such as "#tree/UUID?class=VCPU". */
export function read(hash) {
  const [place, query = ""] = hash.replace(/^#/, "").split(/\?(.*)/s);
  const [view, ...path] = place.split("/");
  return {
    view: view || "cloud",
    path: path.map(decode).join("/"),
    parameters: new URLSearchParams(query),
  };
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Return the address of a view; parameters that are empty are left out. */
export function address(view, path = "", parameters = {}) {
  const kept = Object.entries(parameters).filter(([, value]) =>
    value !== "" && value !== null && value !== undefined
  );
  const query = new URLSearchParams(kept).toString();
  return `#${view}${path ? `/${encodeURIComponent(path)}` : ""}${query ? `?${query}` : ""}`;
}

/** Change the address without reloading the view. */
export function replace(hash) {
  history.replaceState(null, "", hash);
}
