// The accepted and the proposed text of a file, made from its current text and its open hunks. Pure. The server knows
// better: this is for servers that do not give these texts, and for the moment before one has started.
import type { Hunk } from "../items";

/** The document that stands for a side of a comparison; `empty` is that of a file which is not there. */
export type Side = "base" | "proposed" | "empty";

interface UriParts {
  readonly scheme: string;
  readonly path: string;
  readonly query: string;
}

const SCHEME = /^agent-ls-(base|proposed|empty)$/;

export const SCHEMES = ["agent-ls-base", "agent-ls-proposed", "agent-ls-empty"] as const;

/** The uri of a side, by its pieces. Its path is the file's, so that the editor takes both for one file. */
export function sideParts(side: Side, fileUri: string, filePath: string): UriParts {
  return { scheme: `agent-ls-${side}`, path: filePath, query: fileUri };
}

/** The name that the server has for it: `agent-ls:/base/<path>?<uri of the file>`. */
export function serverParts({ scheme, path, query }: UriParts): UriParts {
  return { scheme: "agent-ls", path: `/${scheme.replace(SCHEME, "$1")}${path}`, query };
}

export function sideOf(uri: Pick<UriParts, "scheme">): Side | undefined {
  return SCHEME.exec(uri.scheme)?.[1] as Side | undefined;
}

/** The uri of the file that a side stands for; undefined for any other document. */
export function fileOfSide(uri: UriParts): string | undefined {
  return sideOf(uri) === undefined ? undefined : uri.query;
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
