// The hosts of a cloud as tiles on a canvas, which shows ten thousand hosts without a delay.

import { colourOf, inkOn, scale } from "./colours.js";
import { h, visible } from "./dom.js";

const GAP = 1;
const TITLE = 22; // height of a group's title
const SPACE = 10; // below a group
const NAMED = 56; // least size of a tile that has room for a name
const LONGEST = 14; // characters of a name on a tile

/**
 * A map of tiles in groups, with a cursor that mouse and keys move.
 *
 * onMove receives the tile under the cursor, or null; onChoose receives the chosen tile.
 */
export class CloudMap {
  constructor({ onMove, onChoose }) {
    this.canvas = h("canvas", {
      class: "map",
      tabindex: "0",
      role: "application",
      "aria-roledescription": "map of hosts",
      "aria-label": "Hosts. Arrow keys move, Enter opens the tree.",
    });
    this._onMove = onMove;
    this._onChoose = onChoose;
    this._groups = [];
    this._cursor = -1;
    this._tiles = []; // in the order of drawing: {root, name, share, text, dimmed, x, y}
    this._picture = document.createElement("canvas");
    this._size = 14;
    this._listen();
  }

  /**
   * Draw groups of {title, tiles: [{root, name, share, text, dimmed}]}.
   *
   * size: pixels of a tile. top: share of the strongest colour below that of 100 %.
   */
  show(groups, size, top) {
    this._top = top;
    const root = this._tiles[this._cursor]?.root;
    this._groups = groups;
    this._size = size;
    this._layOut();
    this._cursor = this._tiles.findIndex((tile) => tile.root === root);
    this._paint();
  }

  /** Draw again: the width or the colours have changed. */
  redraw() {
    this._layOut();
    this._paint();
  }

  _layOut() {
    this._width = Math.max(this.canvas.parentElement?.clientWidth ?? 0, 120);
    this._columns = Math.max(1, Math.floor(this._width / this._size));
    this._tiles = [];
    let top = 0;
    for (const group of this._groups) {
      group.top = top;
      if (group.title) top += TITLE;
      group.first = this._tiles.length;
      group.tiles.forEach((tile, index) => {
        const [row, column] = [Math.floor(index / this._columns), index % this._columns];
        this._tiles.push({ ...tile, x: column * this._size, y: top + row * this._size });
      });
      top += Math.ceil(group.tiles.length / this._columns) * this._size + SPACE;
    }
    this._height = Math.max(top, this._size);
  }

  // All tiles are painted onto a picture; while the cursor moves, the picture is copied.
  _paint() {
    const ratio = Math.min(devicePixelRatio, 16000 / this._height);
    for (const canvas of [this.canvas, this._picture]) {
      canvas.width = Math.round(this._width * ratio);
      canvas.height = Math.round(this._height * ratio);
    }
    this.canvas.style.height = `${this._height}px`;
    this._ratio = ratio;
    this._colours = scale(this._top);
    const pen = this._picture.getContext("2d");
    pen.scale(ratio, ratio);
    const style = getComputedStyle(this.canvas);
    this._family = style.fontFamily;
    pen.font = `600 13px ${this._family}`;
    pen.textBaseline = "middle";
    for (const group of this._groups) {
      pen.fillStyle = style.color;
      if (group.title) {
        pen.fillText(
          `${group.title}  ·  ${group.tiles.length}`,
          0,
          group.top + TITLE / 2,
          this._width,
        );
      }
    }
    for (const tile of this._tiles) this._paintTile(pen, tile);
    this._copy();
  }

  _paintTile(pen, tile) {
    const side = this._size - GAP;
    pen.globalAlpha = tile.dimmed ? 0.15 : 1;
    pen.fillStyle = colourOf(this._colours, tile.share);
    pen.fillRect(tile.x, tile.y, side, side);
    if (tile.share === null || tile.share <= 0) {
      pen.strokeStyle = this._colours.line;
      pen.lineWidth = 1;
      pen.strokeRect(tile.x + 0.5, tile.y + 0.5, side - 1, side - 1);
    }
    if (tile.share === null && side > 6) {
      pen.beginPath();
      pen.moveTo(tile.x + 2, tile.y + side - 2);
      pen.lineTo(tile.x + side - 2, tile.y + 2);
      pen.stroke();
    }
    if (this._size >= NAMED) this._write(pen, tile, side);
    pen.globalAlpha = 1;
  }

  _write(pen, { name = "", share, text, x, y }, side) {
    const title = name.length > LONGEST ? `${name.slice(0, LONGEST - 1)}…` : name;
    pen.fillStyle = inkOn(this._colours, share);
    pen.font = `600 11px ${this._family}`;
    pen.fillText(visible(title), x + 4, y + 12, side - 8);
    pen.font = `11px ${this._family}`;
    pen.fillText(text, x + 4, y + side - 10, side - 8);
  }

  _copy() {
    const pen = this.canvas.getContext("2d");
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    pen.drawImage(this._picture, 0, 0);
    const tile = this._tiles[this._cursor];
    if (!tile) return;
    pen.scale(this._ratio, this._ratio);
    pen.strokeStyle = this._colours.focus;
    pen.lineWidth = 2;
    pen.strokeRect(tile.x - 1, tile.y - 1, this._size + 1, this._size + 1);
  }

  _listen() {
    const canvas = this.canvas;
    canvas.addEventListener(
      "pointermove",
      (event) => this._moveTo(this._at(event.offsetX, event.offsetY)),
    );
    canvas.addEventListener("pointerleave", () => this._moveTo(-1));
    canvas.addEventListener("click", () => this._choose());
    canvas.addEventListener("keydown", (event) => this._key(event));
    canvas.addEventListener("focus", () => {
      if (this._cursor < 0) this._moveTo(0);
    });
  }

  _at(x, y) {
    const group = this._groups.findLast((each) => each.top <= y);
    if (!group) return -1;
    const row = Math.floor((y - group.top - (group.title ? TITLE : 0)) / this._size);
    const column = Math.floor(x / this._size);
    const index = row * this._columns + column;
    if (row < 0 || column >= this._columns || index >= group.tiles.length) return -1;
    return group.first + index;
  }

  _key(event) {
    const move = {
      ArrowRight: 1,
      ArrowLeft: -1,
      ArrowDown: this._columns,
      ArrowUp: -this._columns,
      Home: -Infinity,
      End: Infinity,
    }[event.key];
    if (event.key === "Enter" || event.key === " ") this._choose();
    else if (move === undefined) return;
    else this._moveTo(Math.min(Math.max(this._cursor + move, 0), this._tiles.length - 1), true);
    event.preventDefault();
  }

  _moveTo(cursor, byKey = false) {
    if (cursor === this._cursor) return;
    this._cursor = cursor;
    this._copy();
    const tile = this._tiles[cursor] ?? null;
    this.canvas.classList.toggle("pointing", tile !== null);
    if (byKey && tile) this._reveal(tile);
    this._onMove(tile, byKey);
  }

  _reveal(tile) {
    const top = this.canvas.getBoundingClientRect().top + tile.y;
    if (top < 60 || top + this._size > innerHeight) scrollBy({ top: top - innerHeight / 2 });
  }

  _choose() {
    const tile = this._tiles[this._cursor];
    if (tile) this._onChoose(tile);
  }
}
