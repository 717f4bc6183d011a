// Names of hunks in lenses, tree, hovers and notifications. Pure.
import type { Hunk } from "../snapshot/items";

const WHAT: Record<Hunk["what"], string> = { content: "", create: "new file", delete: "deleted file" };
const STATE: Partial<Record<Hunk["state"], string>> = { edited: "with your edits", stale: "no longer placeable", proposed: "proposed" };
const MAX_CHARS = 80;

/** The lines of a hunk; of a notebook's hunk the lines of its cells, because those of the file are JSON. */
function linesOf({ cells, oldLines, newLines }: Hunk): Pick<Hunk, "oldLines" | "newLines"> {
  if (!cells) return { oldLines, newLines };
  return { oldLines: cells.flatMap((part) => part.oldLines), newLines: cells.flatMap((part) => part.newLines) };
}

export function size(hunks: readonly Hunk[]): string {
  const added = hunks.reduce((sum, hunk) => sum + linesOf(hunk).newLines.length, 0);
  const removed = hunks.reduce((sum, hunk) => sum + linesOf(hunk).oldLines.length, 0);
  return [added > 0 ? `+${added}` : "", removed > 0 ? `−${removed}` : ""].filter(Boolean).join(" ") || "no lines";
}

/** The kind and size of a hunk. */
export function nature(hunk: Hunk): string {
  return [WHAT[hunk.what], STATE[hunk.state] ?? "", size([hunk])].filter(Boolean).join(" · ");
}

/** A line that identifies the hunk: the first added line with a word, else the first removed one. */
export function gist(hunk: Hunk): string {
  const { oldLines, newLines } = linesOf(hunk);
  const tells = (line: string) => /\w/.test(line);
  const line = newLines.find(tells) ?? newLines[0] ?? "";
  const text = newLines.length > 0 ? line.trim() : `− ${(oldLines.find(tells) ?? oldLines[0] ?? "").trim()}`;
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS - 1)}…` : text || "(blank line)";
}

/** The position of a hunk: its line, or its cell in a notebook. */
export function whereabouts({ first, cells }: Hunk): string {
  const [part] = cells ?? [];
  return part ? `cell ${part.cell + 1}` : `line ${first + 1}`;
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}

/** Names of the decisions: keep and undo for changes in the file, accept and reject for proposals. */
export function verdictWords(hunk: Hunk): { readonly keep: string; readonly undo: string } {
  return hunk.state === "proposed" ? { keep: "Accept", undo: "Reject" } : { keep: "Keep", undo: "Undo" };
}
