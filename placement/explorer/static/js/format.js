// Numbers and names as people read them.

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

const NAMES = new Intl.Collator("en", { numeric: true });

/** The form of a UUID; its hyphens may be left out. */
export const UUID = /^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;

/** Return a whole number with its thousands apart. */
export function whole(number) {
  return WHOLE.format(number);
}

/** Return "VCPU 2, MEMORY_MB 4,096". */
export function spelled(resources) {
  return Object.entries(resources).map(([name, units]) => `${name} ${whole(units)}`).join(", ");
}

/** Return a share, from 0 to 1 and beyond, as a percentage. */
export function percent(share) {
  return share > 10 ? "over 1000%" : `${Math.round(share * 100)}%`;
}

/** Return "1 host", "2 hosts". */
export function count(number, noun) {
  return `${whole(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** Compare two names as people count: card2 is before card10. */
export function byName(one, other) {
  return NAMES.compare(one, other);
}

/** Return providers by their names; the service lists them in another order. */
export function sorted(providers) {
  return [...providers].sort((one, other) => byName(one.name, other.name));
}

/** Return the first part of a UUID, which distinguishes a few providers. */
export function brief(uuid) {
  return uuid.slice(0, 8);
}
