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
const MAX_COMPARED = 2500; // pairs of lines: a hunk of fifty lines against fifty
const SIMILAR = 0.5;

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

/** Shows each line of the other text at the line that replaces it: the most similar one, in the order of both texts. */
function pairLines(first: number, own: readonly string[], lines: number, others: readonly string[], sign: string): InlineText[] {
  const pairs = own.length === lines && own.length * others.length <= MAX_COMPARED ? similarPairs(others, own) : [];
  if (pairs.length === 0) return pairByPosition(first, lines, others, sign);
  const texts = pairs.map(({ other, line }, i) => {
    // Lines without a similar one are counted at the pair after them; those at the end at the last pair.
    const from = i === 0 ? 0 : (pairs[i - 1]?.other ?? 0) + 1, to = i === pairs.length - 1 ? others.length : other + 1;
    const rest = to - from - 1;
    return { line: first + line, text: `${sign} ${shorten(others[other] ?? "")}${rest > 0 ? `  (+${formatCount(rest, "line")})` : ""}` };
  });
  return texts.filter(({ text }) => text.trim() !== sign);
}

interface Pair {
  readonly other: number;
  readonly line: number;
}

/** Returns the pairs of similar lines whose similarities have the greatest sum, each line in one pair at most. */
function similarPairs(others: readonly string[], own: readonly string[]): Pair[] {
  interface Best { readonly sum: number; readonly pair?: Pair; readonly before?: Best }
  const none: Best = { sum: 0 };
  let above: readonly Best[] = [none, ...own.map(() => none)];
  for (const [other, text] of others.entries()) {
    const row: Best[] = [none];
    for (const [line, mine] of own.entries()) {
      const likeness = similarity(text, mine);
      const left = row[line] ?? none, up = above[line + 1] ?? none, before = above[line] ?? none;
      const skipped = left.sum > up.sum ? left : up;
      row.push(likeness >= SIMILAR && before.sum + likeness > skipped.sum ? { sum: before.sum + likeness, pair: { other, line }, before } : skipped);
    }
    above = row;
  }
  const pairs: Pair[] = [];
  for (let best = above.at(-1); best?.pair; best = best.before) pairs.unshift(best.pair);
  return pairs;
}

/** Returns the share of the longer text that both texts begin and end with, without the indent: from 0 to 1. */
function similarity(a: string, b: string): number {
  const [x, y] = [a.trim(), b.trim()];
  const shorter = Math.min(x.length, y.length);
  if (shorter === 0) return 0;
  let head = 0, tail = 0;
  while (head < shorter && x[head] === y[head]) head++;
  while (tail < shorter - head && x[x.length - 1 - tail] === y[y.length - 1 - tail]) tail++;
  return (head + tail) / Math.max(x.length, y.length);
}

/** Pairs the hunk's lines with the lines of the other text one by one. Surplus lines are shown at the last line. */
function pairByPosition(first: number, lines: number, others: readonly string[], sign: string): InlineText[] {
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
  const [others, own] = isProposal ? [newLines, oldLines] : [oldLines, newLines];
  if (others.length === 0) return isProposal && first < last ? [{ line: first, text: "→ would be removed" }] : [];
  if (first < last) return pairLines(first, own, last - first, others, isProposal ? "→" : "−");
  return [{ line: first, text: isProposal ? `↑ would be added here: ${oneLine(others)}` : `↑ removed here: ${oneLine(others)}` }];
}
