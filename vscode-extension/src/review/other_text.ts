// Short texts with the removed or proposed lines of a hunk, to show at line ends, because the file does not contain these
// lines. Pure.
import type { Hunk } from "../snapshot/items";
import { formatCount } from "./words";

/** A text to show at the end of a line. */
export interface InlineText {
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
  if (first === undefined) return formatCount(lines.length, "blank line");
  return others > 0 ? `${shorten(first)}  (+${formatCount(others, "line")})` : shorten(first);
}

/** Pairs the hunk's lines with the lines of the other text. Surplus lines are shown at the last line. */
function pairLines(first: number, lines: number, others: readonly string[], sign: string): InlineText[] {
  const pairs = Math.min(lines, others.length) - (others.length > lines ? 1 : 0);
  const texts = others.slice(0, pairs).map((text, i) => ({ line: first + i, text: `${sign} ${shorten(text)}` }));
  const rest = others.slice(pairs);
  if (rest.length > 0) texts.push({ line: first + pairs, text: `${sign} ${oneLine(rest)}` });
  return texts.filter(({ text }) => text.trim() !== sign);
}

/** Returns the texts that show the removed or proposed lines of a hunk. */
export function inlineTextsOf({ state, what, first, last, oldLines, newLines }: Hunk): InlineText[] {
  if (what !== "content") return [];
  const isProposal = state === "proposed";
  const others = isProposal ? newLines : oldLines;
  if (others.length === 0) return isProposal && first < last ? [{ line: first, text: "→ would be removed" }] : [];
  if (first < last) return pairLines(first, last - first, others, isProposal ? "→" : "−");
  return [{ line: first, text: isProposal ? `↑ would be added here: ${oneLine(others)}` : `↑ removed here: ${oneLine(others)}` }];
}
