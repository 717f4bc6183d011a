// Moves hunks with the text while the user types, until the server sends the new positions (agent/hunksMoved). Pure.
import type { Hunk } from "../snapshot/items";
import type { FileHunks } from "../connection/protocol";
import { cellsOf } from "./cells";
import { type Hunks, setHunk } from "./model";

/** A change of a document as VS Code reports it: `text` replaces the text in a range. */
export interface TextChange {
  readonly range: { readonly start: TextPosition; readonly end: TextPosition };
  readonly text: string;
}

interface TextPosition {
  readonly line: number;
  readonly character: number;
}

/** A change that replaces lines [first, last) by `added` lines. */
export interface LineChange {
  readonly first: number;
  readonly last: number;
  readonly added: number;
}

/** Converts a text change to a change of lines. `lengthOf` returns the length of a line after the change. */
export function lineChange({ range: { start, end }, text }: TextChange, lengthOf: (line: number) => number): LineChange {
  const pieces = text.split(/\r\n|\r|\n/);
  const breaks = pieces.length - 1;
  const endsLine = text === "" || pieces.at(-1) === "";
  if (start.character === 0 && end.character === 0 && endsLine) return { first: start.line, last: end.line, added: breaks };
  const isInsertion = start.line === end.line && start.character === end.character;
  // A line break at the end of a line leaves that line unchanged and adds lines below it.
  if (isInsertion && breaks > 0 && pieces[0] === "" && lengthOf(start.line + breaks) === (pieces.at(-1) ?? "").length) {
    return { first: start.line + 1, last: start.line + 1, added: breaks };
  }
  return { first: start.line, last: end.line + 1, added: breaks + 1 };
}

type Range = readonly [number, number];

/**
 * Returns the position of lines [first, last) after the change. Lines inserted inside of the range extend it; lines
 * inserted next to it do not.
 */
export function moveRange([first, last]: Range, change: LineChange): Range {
  const by = change.added - (change.last - change.first);
  const isEmpty = first === last;
  if (change.last <= first && !(isEmpty && change.first === first)) return [first + by, last + by];
  if (change.first >= last) return [first, last];
  if (change.first >= first && change.last <= last) return [first, last + by];
  // The change overlaps one end of the range. If it does not change the number of lines, keep the range.
  if (by === 0) return [first, last];
  const before = Math.max(0, Math.min(change.last, first) - change.first);
  const until = Math.max(0, Math.min(change.last, last) - change.first);
  if (change.added === 0) return [first - before, last - until];
  // The server will compute the new range. Until then, do not include lines that were not included before.
  const top = change.first + change.added;
  return [Math.min(first, top), Math.min(last, Math.max(top, last + by))];
}

/**
 * Moves the hunks of a file by the changes of one event, which must be ordered from the bottom of the text to the top.
 * Returns whether any hunk has moved.
 */
export function moveHunks(hunks: Hunks, uri: string, changes: readonly TextChange[], lengthOf: (line: number) => number): boolean {
  const inFile = [...(hunks.get(uri)?.values() ?? [])].filter(({ what }) => what === "content");
  let hasMoved = false;
  for (const hunk of inFile) {
    const [first, last] = rangeAfter([hunk.first, hunk.last], changes, lengthOf);
    hasMoved = place(hunks, { ...hunk, first, last }) || hasMoved;
  }
  return hasMoved;
}

/** Moves the parts of a notebook's hunks in one cell, in the same way as `moveHunks`. */
export function moveInCell(hunks: Hunks, uri: string, cellUri: string, changes: readonly TextChange[], lengthOf: (line: number) => number): boolean {
  const inNotebook = [...(hunks.get(uri)?.values() ?? [])];
  return inNotebook.reduce((hasMoved, hunk) => {
    if (!hunk.cells) return hasMoved;
    const cells = hunk.cells.map((part) => {
      if (part.uri !== cellUri) return part;
      const [first, last] = rangeAfter([part.first, part.last], changes, lengthOf);
      return { ...part, first, last };
    });
    return place(hunks, { ...hunk, cells }) || hasMoved;
  }, false);
}

function rangeAfter(range: Range, changes: readonly TextChange[], lengthOf: (line: number) => number): Range {
  return changes.reduce<Range>((at, change) => moveRange(at, lineChange(change, lengthOf)), range);
}

/** Sets the known hunks to the server's positions. Returns whether any has moved. */
export function placeHunks(hunks: Hunks, { uri, hunks: placed }: Pick<FileHunks, "uri" | "hunks">): boolean {
  const known = hunks.get(uri);
  return placed.reduce((hasMoved, raw) => {
    const hunk = known?.get(raw.id);
    if (!hunk) return hasMoved;
    return place(hunks, { ...hunk, first: raw.newRange[0], last: raw.newRange[1], cells: cellsOf(raw).cells }) || hasMoved;
  }, false);
}

/** Replaces a known hunk by the same hunk at its new position. Returns whether it has moved. */
function place(hunks: Hunks, hunk: Hunk): boolean {
  const known = hunks.get(hunk.uri)?.get(hunk.id);
  if (known?.first === hunk.first && known.last === hunk.last && JSON.stringify(known.cells) === JSON.stringify(hunk.cells)) return false;
  setHunk(hunks, hunk);
  return true;
}
