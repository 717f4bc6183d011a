// Adds transcript items for proposed changes: one item with a diff for each file of a call. Pure.
import type { FileItem, Hunk, Snapshot } from "./items";
import { addItem, markChanged } from "./parts";

type Proposed = Hunk & { readonly path: string };

function diffOf({ first, last, oldLines, newLines }: Hunk): string {
  const head = `@@ -${first + 1},${last - first} +${first + 1},${newLines.length} @@`;
  return [head, ...oldLines.map((line) => `-${line}`), ...newLines.map((line) => `+${line}`), ""].join("\n");
}

function itemOf(s: Snapshot, callId: string, uri: string): FileItem | undefined {
  return s.items.find((item): item is FileItem => item.kind === "file" && item.isProposal === true && item.callId === callId && item.uri === uri);
}

/** Returns whether the call's change of this file was a proposal. */
export function isProposal(s: Snapshot, callId: string, uri: string): boolean {
  return itemOf(s, callId, uri) !== undefined;
}

/** Adds items for the proposals that have no item yet. */
export function addProposals(s: Snapshot, hunks: readonly Proposed[]): void {
  for (const hunk of hunks.filter(({ id, state }) => state === "proposed" && !s.hunkItem.has(id))) {
    const { id, callId, uri, path, what, turnId } = hunk;
    const action = what === "content" ? "modify" : what;
    const item = itemOf(s, callId, uri) ?? addItem(s, (index): FileItem => ({
      kind: "file", id: `proposed:${callId}:${uri}`, index, path, uri, action, added: 0, removed: 0, diff: "", hunkIds: [], callId, isProposal: true, ...(turnId !== "" && { turnId }),
    }));
    item.hunkIds = [...item.hunkIds, id];
    item.diff += diffOf(hunk);
    item.added += hunk.newLines.length;
    item.removed += hunk.oldLines.length;
    s.hunkItem.set(id, item);
    markChanged(s, item);
  }
}
