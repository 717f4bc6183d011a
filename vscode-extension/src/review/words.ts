// Labels of hunks in code lenses, the tree, hovers and notifications. Pure.
import type { Hunk } from "../snapshot/items";

const WHAT: Record<Hunk["what"], string> = { content: "", create: "new file", delete: "deleted file" };
const STATE: Partial<Record<Hunk["state"], string>> = { edited: "with your edits", stale: "position unknown", proposed: "proposed" };
const MAX_CHARS = 80;

/** Returns the lines of a hunk. For a notebook, returns lines of its cells, because the lines of the file are JSON. */
function linesOf({ cells, oldLines, newLines }: Hunk): Pick<Hunk, "oldLines" | "newLines"> {
  if (!cells) return { oldLines, newLines };
  return { oldLines: cells.flatMap((part) => part.oldLines), newLines: cells.flatMap((part) => part.newLines) };
}

export function formatSize(hunks: readonly Hunk[]): string {
  const added = hunks.reduce((sum, hunk) => sum + linesOf(hunk).newLines.length, 0);
  const removed = hunks.reduce((sum, hunk) => sum + linesOf(hunk).oldLines.length, 0);
  return [added > 0 ? `+${added}` : "", removed > 0 ? `−${removed}` : ""].filter(Boolean).join(" ") || "no lines";
}

/** Describes the kind, state and size of a hunk. */
export function describeHunk(hunk: Hunk): string {
  return [WHAT[hunk.what], STATE[hunk.state] ?? "", formatSize([hunk])].filter(Boolean).join(" · ");
}

/** Returns a line that identifies the hunk: the first added line with a word. If none is added: the first removed line. */
export function firstChangedLine(hunk: Hunk): string {
  const { oldLines, newLines } = linesOf(hunk);
  const tells = (line: string) => /\w/.test(line);
  const line = newLines.find(tells) ?? newLines[0] ?? "";
  const text = newLines.length > 0 ? line.trim() : `− ${(oldLines.find(tells) ?? oldLines[0] ?? "").trim()}`;
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS - 1)}…` : text || "(blank line)";
}

/** Describes the position of a hunk by its line, or by its cell in a notebook. */
export function describePosition({ first, cells }: Hunk): string {
  const [part] = cells ?? [];
  return part ? `cell ${part.cell + 1}` : `line ${first + 1}`;
}

export function formatCount(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}

/** Returns the labels of the decisions: Keep and Undo for changes in the file, Accept and Reject for proposals. */
export function verdictLabels(hunk: Hunk): { readonly keep: string; readonly undo: string } {
  return hunk.state === "proposed" ? { keep: "Accept", undo: "Reject" } : { keep: "Keep", undo: "Undo" };
}
