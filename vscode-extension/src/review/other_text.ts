// Short texts with the removed or proposed lines of a hunk, to show at line ends, because the file does not contain these
// lines. Pure.
import type { Hunk } from "../snapshot/items";
import { count } from "./words";

/** A text to show at the end of a line. */
export interface Aside {
  readonly line: number;
  readonly text: string;
}

const MAX_CHARS = 100;

function shorten(line: string): string {
  const text = line.trim().replace(/\s+/g, " ");
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS - 1)}…` : text;
}

/** Formats lines as one line: the first non-empty line, and the number of the others. */
function oneLine(lines: readonly string[]): string {
  const first = lines.find((line) => /\S/.test(line));
  const others = lines.length - 1;
  if (first === undefined) return count(lines.length, "blank line");
  return others > 0 ? `${shorten(first)}  (+${count(others, "line")})` : shorten(first);
}

/** Pairs the hunk's lines with the lines of the other text. Surplus lines are shown at the last line. */
function pairLines(first: number, lines: number, others: readonly string[], sign: string): Aside[] {
  const pairs = Math.min(lines, others.length) - (others.length > lines ? 1 : 0);
  const asides = others.slice(0, pairs).map((text, i) => ({ line: first + i, text: `${sign} ${shorten(text)}` }));
  const rest = others.slice(pairs);
  if (rest.length > 0) asides.push({ line: first + pairs, text: `${sign} ${oneLine(rest)}` });
  return asides.filter(({ text }) => text.trim() !== sign);
}

/** Returns the texts that show the removed or proposed lines of a hunk. */
export function asides({ state, what, first, last, oldLines, newLines }: Hunk): Aside[] {
  if (what !== "content") return [];
  const isProposal = state === "proposed";
  const others = isProposal ? newLines : oldLines;
  if (others.length === 0) return isProposal && first < last ? [{ line: first, text: "→ goes" }] : [];
  if (first < last) return pairLines(first, last - first, others, isProposal ? "→" : "−");
  return [{ line: first, text: isProposal ? `↑ would be added here: ${oneLine(others)}` : `↑ removed here: ${oneLine(others)}` }];
}
