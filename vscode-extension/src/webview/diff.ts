// Renders the diff of a change: only what decides, always in sight, on lines that wrap. Pure but for the DOM.
import { revealHiddenCharacters } from "../approvals/hidden_characters";
import { h, plural } from "./dom";

const MAX_LINES = 600; // longer diffs are cut; the user can open the file
const PART_LINES = 100;
const CONTEXT = 1;
const BESIDE = 40; // characters kept at both ends of a long unchanged text beside a changed part
const CLASSES: Readonly<Record<string, string>> = { "+": "added", "-": "removed" };

/** A line of a diff. `from` and `to`: the part of `text` that differs from the line that it replaces. */
export interface DecisiveLine {
  readonly sign: string;
  readonly text: string;
  readonly from: number;
  readonly to: number;
}

const FOLD: DecisiveLine = { sign: "@", text: "", from: 0, to: 0 };

/** Returns the lines of a unified diff without its file header. */
function diffLines(diff: string): string[] {
  const lines = diff.split("\n").filter((line, i) => i > 1 || !/^(---|\+\+\+) /.test(line));
  return lines.filter((line) => /^[-+@ ]/.test(line));
}

/** Returns the changed lines with one line of context, without the indent that all of them share, with changed parts. */
export function decisiveLines(diff: string): DecisiveLine[] {
  const lines = diffLines(diff);
  const near = lines.map((line, at) => isChange(line) || lines.slice(Math.max(at - CONTEXT, 0), at + CONTEXT + 1).some(isChange));
  const kept: DecisiveLine[] = [];
  for (const [at, line] of lines.entries()) {
    const isFold = line.startsWith("@") || near[at] !== true;
    if (isFold && (kept.length === 0 || kept.at(-1) === FOLD)) continue;
    kept.push(isFold ? FOLD : { sign: line.charAt(0), text: line.slice(1).replace(/\r$/, ""), from: 0, to: 0 });
  }
  if (kept.at(-1) === FOLD) kept.pop();
  const indent = sharedIndent(kept.filter(({ sign, text }) => sign !== "@" && text.trim() !== "").map(({ text }) => text));
  return markParts(kept.map((line) => (line === FOLD ? line : { ...line, text: line.text.slice(indent) })));
}

function isChange(line: string): boolean {
  return line.startsWith("+") || line.startsWith("-");
}

function sharedIndent(texts: readonly string[]): number {
  let shared = /^[ \t]*/.exec(texts[0] ?? "")?.[0] ?? "";
  for (const text of texts) while (!text.startsWith(shared)) shared = shared.slice(0, -1);
  return shared.length;
}

/** Marks the differing parts where as many lines are added as were removed just before. */
function markParts(lines: readonly DecisiveLine[]): DecisiveLine[] {
  const marked = [...lines];
  for (let at = 0; at < lines.length;) {
    const removed = runOf(lines, at, "-"), added = runOf(lines, at + removed, "+");
    for (let i = 0; i < removed && removed === added; i++) {
      const old = lines[at + i] ?? FOLD, now = lines[at + removed + i] ?? FOLD;
      const [from, oldTo, nowTo] = differing(old.text, now.text);
      if (from === 0 && oldTo === old.text.length) continue; // nothing in common: the whole line is new
      marked[at + i] = { ...old, from, to: oldTo };
      marked[at + removed + i] = { ...now, from, to: nowTo };
    }
    at += Math.max(removed + added, 1);
  }
  return marked;
}

function runOf(lines: readonly DecisiveLine[], at: number, sign: string): number {
  let end = at;
  while (lines[end]?.sign === sign) end++;
  return end - at;
}

/** Returns where two texts begin to differ, and where the differing part ends in each, at the borders of words. */
function differing(old: string, now: string): [number, number, number] {
  const isWord = (text: string, at: number): boolean => /[\w.]/.test(text.charAt(at));
  const shorter = Math.min(old.length, now.length);
  let from = 0, tail = 0;
  while (from < shorter && old[from] === now[from]) from++;
  const first = from;
  while (from > 0 && isWord(old, from - 1) && (isWord(old, from) || isWord(now, from))) from--;
  if (first - from > BESIDE) from = first; // a very long word: only its characters
  while (tail < shorter - from && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail++;
  const last = tail;
  while (tail > 0 && isWord(old, old.length - tail) && (isWord(old, old.length - tail - 1) || isWord(now, now.length - tail - 1))) tail--;
  if (last - tail > BESIDE) tail = last;
  return [from, old.length - tail, now.length - tail];
}

/** Leaves out the middle of a long text beside a marked part: both lines have it, and it would push the part out of sight. */
function shorten(text: string, isMarked: boolean): string {
  return isMarked && text.length > 2 * BESIDE + 16 ? `${text.slice(0, BESIDE)} ⋯ ${text.slice(-BESIDE)}` : text;
}

/** Says that `count` lines are not shown; null if all are. */
function moreLines(count: number): HTMLElement | null {
  return count > 0 ? h("span", { class: "fold" }, `⋯ ${plural(count, "more line")}\n`) : null;
}

/** Puts the lines of a long diff into parts, which are laid out only in sight. */
function inParts(lines: readonly HTMLElement[]): readonly HTMLElement[] {
  if (lines.length <= MAX_LINES) return lines;
  const parts = Array.from({ length: Math.ceil(lines.length / PART_LINES) }, (_, i) => lines.slice(i * PART_LINES, (i + 1) * PART_LINES));
  return parts.map((part) => h("div", { class: "part" }, ...part));
}

/** Shows at most `most` lines. `left` lines follow which the page does not have. */
export function diffElement(lines: readonly DecisiveLine[], label: string, left = 0, most = MAX_LINES): HTMLElement {
  const shown = lines.slice(0, most).map(({ sign, text, from, to }) => {
    if (sign === "@") return h("span", { class: "fold" }, "⋯\n");
    const isMarked = to > from;
    const [before, part, after] = [shorten(text.slice(0, from), isMarked), text.slice(from, to), shorten(text.slice(to), isMarked)].map(revealHiddenCharacters);
    return h("span", { class: CLASSES[sign] ?? "context" }, `${sign}${before}`, part !== "" && h("mark", {}, part), `${after}\n`);
  });
  return h("pre", { class: "diff", tabindex: 0, role: "group", "aria-label": label }, ...inParts(shown), moreLines(Math.max(0, lines.length - most) + left));
}
