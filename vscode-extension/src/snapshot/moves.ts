// Detects moves: if a call deletes a file and creates one with the same lines, both are displayed as one item. Pure.
import type { FileItem, Hunk, Snapshot } from "./items";
import { markChanged } from "./parts";
import type { FileSum, StoredItem } from "../connection/protocol";

function linesOf(s: Snapshot, { hunkIds }: Pick<FileItem, "hunkIds">, side: (hunk: Hunk) => readonly string[]): string {
  return hunkIds.flatMap((id) => side(s.hunks.get(id) ?? NONE)).join("\n");
}

const NONE = { oldLines: [], newLines: [] } as unknown as Hunk;
const RECENT = 50; // number of items to search; the two items of a move are close together

/** If the file and an existing item are the two ends of a move, adds the file to that item and returns true. */
export function joinMove(s: Snapshot, file: Pick<FileItem, "path" | "uri" | "action" | "hunkIds" | "callId">): boolean {
  if (file.action === "modify") return false;
  const other = s.items.slice(-RECENT).find((item): item is FileItem => item.kind === "file" && item.movedFrom === undefined && item.callId === file.callId && isOtherEnd(s, item, file));
  if (!other) return false;
  const [gone, made] = file.action === "create" ? [other, file] : [file, other];
  const from = { path: gone.path, uri: gone.uri };
  s.moves.set(made.uri, from);
  Object.assign(other, { path: made.path, uri: made.uri, action: "modify", movedFrom: from.path, added: 0, removed: 0, diff: "", hunkIds: [...other.hunkIds, ...file.hunkIds] });
  for (const id of file.hunkIds) s.hunkItem.set(id, other);
  markChanged(s, other);
  return true;
}

function isOtherEnd(s: Snapshot, item: FileItem, file: Pick<FileItem, "action" | "hunkIds">): boolean {
  const isPair = (item.action === "delete" && file.action === "create") || (item.action === "create" && file.action === "delete");
  if (!isPair) return false;
  const [gone, made] = file.action === "create" ? [item, file] : [file, item];
  const before = linesOf(s, gone, (hunk) => hunk.oldLines);
  return before !== "" && before === linesOf(s, made, (hunk) => hunk.newLines);
}

type StoredFile = Extract<StoredItem, { kind: "file" }>;

/** A move among stored items: the item that deletes the file, and the item that creates it. */
export interface StoredMove {
  readonly gone: StoredFile;
  readonly made: StoredFile;
}

/**
 * Finds the moves among stored items. Maps the earlier item of each move, which is to represent both, to the move; maps
 * the later item to null.
 */
export function findStoredMoves(oldestFirst: readonly StoredItem[]): Map<StoredItem, StoredMove | null> {
  const found = new Map<StoredItem, StoredMove | null>();
  const files = oldestFirst.filter((raw) => raw.kind === "file");
  for (const [i, file] of files.entries()) {
    for (const other of files.slice(i + 1, i + 1 + RECENT)) {
      if (found.has(file) || found.has(other) || file.callId !== other.callId) continue;
      const [gone, made] = file.action === "delete" ? [file, other] : [other, file];
      if (gone.action !== "delete" || made.action !== "create") continue;
      const before = gone.hunks.flatMap((hunk) => hunk.baseLines).join("");
      if (before === "" || before !== made.hunks.flatMap((hunk) => hunk.lines).join("")) continue;
      found.set(file, { gone, made }).set(other, null);
    }
  }
  return found;
}

/** Returns the files of a turn, with one entry for both ends of a move. */
export function joinMoves(s: Snapshot, files: readonly FileSum[]): (FileSum & { readonly movedFrom?: string })[] {
  const gone = new Set(files.flatMap(({ uri }) => s.moves.get(uri)?.uri ?? []));
  return files.filter(({ uri, action }) => !(action === "delete" && gone.has(uri))).map((file) => {
    const from = s.moves.get(file.uri);
    if (!from) return file;
    return { ...file, action: "modify", added: 0, removed: 0, movedFrom: from.path };
  });
}
