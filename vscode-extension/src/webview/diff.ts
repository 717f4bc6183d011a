// Renders a unified diff as lines with a sign and a colour.
import { revealHiddenCharacters } from "../approvals/hidden_characters";
import { h, plural } from "./dom";

const MAX_LINES = 600; // longer diffs are cut; the user can open the file
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
  const more = lines.length - MAX_LINES;
  return h("pre", { class: "diff", tabindex: 0, role: "group", "aria-label": label }, ...shown, more > 0 && h("span", { class: "fold" }, `⋯ ${plural(more, "more line")}\n`));
}
