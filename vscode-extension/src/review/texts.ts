// Computes the accepted and the proposed text of a file from its current text and open hunks. Used if the server does not
// provide these texts or has not started yet. Pure.
import type { Hunk } from "../snapshot/items";

/** A virtual side of a comparison: the accepted text ("base") or the proposed text. */
export type Side = "base" | "proposed";

interface UriParts {
  readonly scheme: string;
  readonly path: string;
  readonly query: string;
}

const SCHEME = /^agent-ls-(base|proposed)$/;

export const SCHEMES = ["agent-ls-base", "agent-ls-proposed"] as const;

/** Returns the components of a side's URI. Its path is the path of the file, so that VS Code treats both as one file. */
export function sideParts(side: Side, fileUri: string, filePath: string): UriParts {
  return { scheme: `agent-ls-${side}`, path: filePath, query: fileUri };
}

/** Converts the URI of a side to the server's form: `agent-ls:/base/<path>?<uri of the file>`. */
export function serverParts({ scheme, path, query }: UriParts): UriParts {
  return { scheme: "agent-ls", path: `/${scheme.replace(SCHEME, "$1")}${path}`, query };
}

export function sideOf(uri: Pick<UriParts, "scheme">): Side | undefined {
  return SCHEME.exec(uri.scheme)?.[1] as Side | undefined;
}

/** Returns the URI of the file that a side belongs to; undefined for other documents. */
export function fileOfSide(uri: UriParts): string | undefined {
  return sideOf(uri) === undefined ? undefined : uri.query;
}

function replaceHunks(text: string, hunks: readonly Hunk[], linesOf: (hunk: Hunk) => readonly string[]): string {
  const end = text.includes("\r\n") ? "\r\n" : "\n";
  const lines = text.split(/\r?\n/);
  const fromBelow = [...hunks].sort((a, b) => b.first - a.first || b.last - a.last);
  for (const hunk of fromBelow) lines.splice(hunk.first, hunk.last - hunk.first, ...linesOf(hunk));
  return lines.join(end);
}

/** Computes the accepted text: undoes the agent's open changes. Does not undo stale hunks, which have no position. */
export function baseText(current: string, hunks: readonly Hunk[]): string {
  const inText = hunks.filter(({ state }) => state === "pending" || state === "edited");
  return replaceHunks(current, inText, (hunk) => hunk.oldLines);
}

/** Computes the proposed text: applies all proposals to the current text. */
export function proposedText(current: string, hunks: readonly Hunk[]): string {
  const proposals = hunks.filter(({ state }) => state === "proposed");
  return replaceHunks(current, proposals, (hunk) => hunk.newLines);
}

export interface HunkRange {
  readonly hunk: Hunk;
  readonly first: number;
  readonly last: number;
}

/** Returns the lines of each proposal in the proposed text, from top to bottom. */
export function locateProposals(hunks: readonly Hunk[]): HunkRange[] {
  const proposals = hunks.filter(({ state }) => state === "proposed").sort((a, b) => a.first - b.first);
  let shift = 0;
  return proposals.map((hunk) => {
    const first = hunk.first + shift;
    shift += hunk.newLines.length - (hunk.last - hunk.first);
    return { hunk, first, last: first + hunk.newLines.length };
  });
}
