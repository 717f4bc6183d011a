// Checks the server's notebook edits against the current cells. Pure.
import type { ClientRequests } from "../connection/protocol";

const withLf = (text: string) => text.replace(/\r\n/g, "\n");

/** Whether the edit can be applied: the texts of its cells must be unchanged; their outputs may have changed. */
export function isApplicable(cells: readonly string[], { cellCount, texts, splices }: ClientRequests["editNotebook"]["params"]): boolean {
  const holds = (at: number, text: string) => cells[at] !== undefined && withLf(cells[at]) === text;
  return cells.length === cellCount
    && texts.every(({ index, was }) => holds(index, was))
    && splices.every(({ start, was }) => was.every((text, i) => holds(start + i, text)));
}

export interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

const isHigh = (text: string, at: number) => /[\ud800-\udbff]/.test(text.charAt(at));
const isLow = (text: string, at: number) => /[\udc00-\udfff]/.test(text.charAt(at));

/** Returns the changed part of a text. Replacing only this part keeps the positions of markers and cursors elsewhere. */
export function findChangedPart(old: string, wanted: string): Replacement {
  const text = old.includes("\r\n") ? withLf(wanted).replace(/\n/g, "\r\n") : wanted;
  const most = Math.min(old.length, text.length);
  let start = 0;
  while (start < most && old[start] === text[start]) start += 1;
  if (start > 0 && isHigh(old, start - 1)) start -= 1;
  let tail = 0;
  while (tail < most - start && old[old.length - 1 - tail] === text[text.length - 1 - tail]) tail += 1;
  if (tail > 0 && isLow(old, old.length - tail)) tail -= 1;
  return { start, end: old.length - tail, text: text.slice(start, text.length - tail) };
}
