// The accepted and the proposed text of a file, made from its current text and its open hunks. Pure. The server knows
// better: this is for servers that do not give these texts, and for the moment before one has started.
import type { Hunk } from "../items";

/** The document that stands for a side of a comparison; `empty` is that of a file which is not there. */
export type Side = "base" | "proposed" | "empty";

export const SCHEME = "agent-ls";

/** `agent-ls:/base/<path>?<uri of the file>`, by its pieces. */
export function sideParts(side: Side, fileUri: string, filePath: string): { scheme: string; path: string; query: string } {
  return { scheme: SCHEME, path: `/${side}${filePath}`, query: fileUri };
}

export function sideOf(path: string): Side | undefined {
  const [, side] = /^\/(base|proposed|empty)\//.exec(path) ?? [];
  return side as Side | undefined;
}

/** The uri of the file that a side stands for; undefined for any other document. */
export function fileOfSide(uri: { readonly scheme: string; readonly path: string; readonly query: string }): string | undefined {
  return uri.scheme === SCHEME && sideOf(uri.path) !== undefined ? uri.query : undefined;
}

function replaced(text: string, hunks: readonly Hunk[], linesOf: (hunk: Hunk) => readonly string[]): string {
  const end = text.includes("\r\n") ? "\r\n" : "\n";
  const lines = text.split(/\r?\n/);
  const fromBelow = [...hunks].sort((a, b) => b.first - a.first || b.last - a.last);
  for (const hunk of fromBelow) lines.splice(hunk.first, hunk.last - hunk.first, ...linesOf(hunk));
  return lines.join(end);
}

/** What the user has accepted: each change of the agent taken back. A stale one has no place, and stays. */
export function baseText(current: string, hunks: readonly Hunk[]): string {
  const inText = hunks.filter(({ state }) => state === "pending" || state === "edited");
  return replaced(current, inText, (hunk) => hunk.oldLines);
}

/** The current text with each proposal in it. */
export function proposedText(current: string, hunks: readonly Hunk[]): string {
  const proposals = hunks.filter(({ state }) => state === "proposed");
  return replaced(current, proposals, (hunk) => hunk.newLines);
}

export interface Placed {
  readonly hunk: Hunk;
  readonly first: number;
  readonly last: number;
}

/** The lines of each proposal in the proposed text, from top to bottom. */
export function inProposed(hunks: readonly Hunk[]): Placed[] {
  const proposals = hunks.filter(({ state }) => state === "proposed").sort((a, b) => a.first - b.first);
  let shift = 0;
  return proposals.map((hunk) => {
    const first = hunk.first + shift;
    shift += hunk.newLines.length - (hunk.last - hunk.first);
    return { hunk, first, last: first + hunk.newLines.length };
  });
}
