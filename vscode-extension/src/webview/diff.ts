// Renders a unified diff as lines with a sign and a colour.
import { revealHiddenCharacters } from "../approvals/hidden_characters";
import { h, plural } from "./dom";

export const MAX_LINES = 600; // longer diffs are cut; the user can open the file
const CLASSES: Readonly<Record<string, string>> = { "+": "added", "-": "removed" };

/** Returns the lines of a diff without its file header. */
export function diffLines(diff: string): string[] {
  const lines = diff.split("\n").filter((line, i) => i > 1 || !/^(---|\+\+\+) /.test(line));
  return lines.filter((line) => /^[-+@ ]/.test(line));
}

export function diffElement(diff: string, label: string): HTMLElement {
  const lines = diffLines(diff);
  const shown = lines.slice(0, MAX_LINES).map((line, i) => {
    if (line.startsWith("@")) return i === 0 ? null : h("span", { class: "fold" }, "⋯\n");
    return h("span", { class: CLASSES[line.charAt(0)] ?? "context" }, `${revealHiddenCharacters(line.replace(/\r$/, ""))}\n`);
  });
  return h("pre", { class: "diff", tabindex: 0, role: "group", "aria-label": label }, ...shown, moreLines(lines.length));
}

/** Says how many of `count` lines are not shown; null if all are. */
export function moreLines(count: number): HTMLElement | null {
  return count > MAX_LINES ? h("span", { class: "fold" }, `⋯ ${plural(count - MAX_LINES, "more line")}\n`) : null;
}
