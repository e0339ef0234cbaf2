// Colours of use, from the background's own tone to the strongest.

const STEPS = 10;
const DARK = matchMedia("(prefers-color-scheme: dark)");

/** Call a listener when the colours of the page change. */
export function onChange(listener) {
  DARK.addEventListener("change", listener);
}

/** Return the share of the strongest colour below "full": the largest of these, in steps of 5 %. */
export function topOf(shares) {
  const largest = shares.reduce((one, other) => Math.max(one, other), 0);
  return Math.min(Math.max(Math.ceil(largest * 20), 1) / 20, 1);
}

/**
 * Return the colours of tiles: of each step of use, of more than there is, and of no inventory.
 *
 * top: share of the last step before the one of 100 %.
 */
export function scale(top = 1) {
  const [from, to] = DARK.matches
    ? [[38, 62, 84], [255, 196, 92]]
    : [[226, 238, 244], [14, 62, 96]];
  const used = Array.from({ length: STEPS + 1 }, (_, step) => mixed(from, to, step / STEPS));
  return {
    top,
    used,
    over: DARK.matches ? "#ff5d73" : "#c1122f",
    none: DARK.matches ? "#1d2329" : "#f4f4f2",
    line: DARK.matches ? "#56616b" : "#9aa3aa",
    focus: DARK.matches ? "#ffffff" : "#000000",
  };
}

function mixed(from, to, share) {
  const parts = from.map((start, index) => Math.round(start + (to[index] - start) * share));
  return `rgb(${parts.join(" ")})`;
}

/** Return the colour of text on a tile: the one with more contrast. */
export function inkOn(colours, share) {
  const ground = colourOf(colours, share);
  const parts = ground.startsWith("#")
    ? ground.slice(1).match(/../g).map((pair) => parseInt(pair, 16))
    : ground.match(/\d+/g).map(Number);
  const [red, green, blue] = parts.map((part) => (part / 255) ** 2.2);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 ? "#10171c" : "#ffffff";
}

/** Return the colour of a share in a scale. */
export function colourOf(colours, share) {
  if (share === null) return colours.none;
  if (share > 1) return colours.over;
  // The first and the last colour are only for 0 and 100 %.
  const part = Math.min(share / colours.top, 0.99);
  const step = share <= 0 ? 0 : share >= 1 ? STEPS : 1 + Math.floor(part * (STEPS - 1));
  return colours.used[step];
}
