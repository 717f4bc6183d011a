// The tree of pending changes: by file, or by turn and file. Pure.
import type { Hunk } from "../snapshot/items";
import type { GuidedRow } from "./guide";
import { type Hunks, listHunks, listFiles, listHunksOfFile } from "./model";
import { formatCount, formatSize } from "./words";

export type Grouping = "file" | "turn" | "guide";

export interface TurnNode {
  readonly kind: "turn";
  readonly turnId: string;
  readonly files: readonly FileNode[];
}

export interface FileNode {
  readonly kind: "file";
  readonly uri: string;
  /** The turn to which the hunks belong; absent if they may belong to any turn. */
  readonly turnId?: string;
  /** The earlier URI of a moved file. `hunks` then contains the hunks of both URIs. */
  readonly movedFrom?: string;
  readonly hunks: readonly Hunk[];
}

export interface HunkNode {
  readonly kind: "hunk";
  readonly hunk: Hunk;
}

/** A row of the guided review. `hunks` are the undecided ones. */
export interface RowNode {
  readonly kind: "row";
  readonly guided: GuidedRow;
  readonly hunks: readonly Hunk[];
}

export type Node = TurnNode | FileNode | HunkNode | RowNode;

function byTurn(hunks: Hunks, order: readonly string[]): TurnNode[] {
  const turnIds = [...new Set(listHunks(hunks).map((hunk) => hunk.turnId))];
  // The newest turn is first, because the user has just seen it.
  const place = (turnId: string) => order.indexOf(turnId);
  turnIds.sort((a, b) => place(b) - place(a));
  return turnIds.map((turnId) => ({ kind: "turn", turnId, files: fileNodes(hunks, turnId) }));
}

function fileNodes(hunks: Hunks, turnId?: string): FileNode[] {
  const nodes = listFiles(hunks).map((uri) => {
    const own = listHunksOfFile(hunks, uri).filter((hunk) => turnId === undefined || hunk.turnId === turnId);
    return { kind: "file" as const, uri, ...(turnId !== undefined && { turnId }), hunks: own };
  });
  return joinMoves(nodes.filter((node) => node.hunks.length > 0));
}

/** Joins the deleted and the created file of each move to one node, because they are decided together. */
function joinMoves(nodes: readonly FileNode[]): FileNode[] {
  const gone = new Map<string, FileNode>();
  for (const node of nodes) {
    const link = onlyLink(node, "delete");
    if (link !== undefined) gone.set(link, node);
  }
  const joined = new Set<FileNode>();
  const found = nodes.map((node) => {
    const before = gone.get(onlyLink(node, "create") ?? "");
    if (!before || joined.has(before)) return node;
    joined.add(before);
    return { ...node, movedFrom: before.uri, hunks: [...node.hunks, ...before.hunks] };
  });
  return found.filter((node) => !joined.has(node));
}

function onlyLink({ hunks }: FileNode, what: Hunk["what"]): string | undefined {
  const [hunk] = hunks;
  // A hunk's `link` is unique only within a call.
  return hunks.length === 1 && hunk?.what === what && hunk.link !== undefined ? [hunk.sessionId, hunk.callId, hunk.link].join(" ") : undefined;
}

/** Whether a moved file has the same lines under both names. */
export function isUnchangedMove({ movedFrom, hunks }: FileNode): boolean {
  const [made, gone] = hunks;
  return movedFrom !== undefined && made?.newLines.join("\n") === gone?.oldLines.join("\n");
}

/** Returns the root nodes. `turns` are the ids of the session's turns, oldest first. */
export function rootNodes(hunks: Hunks, grouping: Grouping, turns: readonly string[]): Node[] {
  return grouping === "file" ? fileNodes(hunks) : byTurn(hunks, turns);
}

/** Returns the newest of the turns (oldest first) that has hunks; undefined if none has. */
export function newestTurn(turns: readonly string[], hunks: Hunks): string | undefined {
  const changed = new Set(listHunks(hunks).map(({ turnId }) => turnId));
  return turns.filter((turn) => changed.has(turn)).at(-1);
}

/** Returns the rows of the guided review, each with its undecided hunks in their current form. */
export function rowNodes(rows: readonly GuidedRow[], hunks: Hunks): RowNode[] {
  const known = new Map(listHunks(hunks).map((hunk) => [hunk.id, hunk]));
  return rows.map((guided) => ({ kind: "row", guided, hunks: guided.row.hunkIds.flatMap((id) => known.get(id) ?? []) }));
}

export function childNodes(node: Node): readonly Node[] {
  if (node.kind === "row") return node.guided.row.kind === "change" ? [] : node.hunks.map((hunk) => ({ kind: "hunk", hunk }));
  if (node.kind === "turn") return node.files;
  return node.kind === "file" && !isUnchangedMove(node) ? hunksOf(node).map((hunk) => ({ kind: "hunk", hunk })) : [];
}

export function hunksOf(node: Node): readonly Hunk[] {
  if (node.kind === "turn") return node.files.flatMap((file) => file.hunks);
  return node.kind === "hunk" ? [node.hunk] : node.hunks;
}

/** Returns the id of a node. The id stays the same when the tree is redrawn, so that expanded nodes stay expanded. */
export function nodeId(node: Node): string {
  if (node.kind === "turn") return `turn:${node.turnId}`;
  if (node.kind === "row") return `row:${node.guided.row.kind}:${node.guided.row.hunkIds[0] ?? ""}`;
  return node.kind === "file" ? `file:${node.turnId ?? ""}:${node.uri}` : `hunk:${node.hunk.id}`;
}

/** Returns the context value, on which the menu of a node depends. */
export function contextOf(node: Node): string {
  if (node.kind === "row" && node.hunks.length === 0) return "row.done";
  const isProposal = hunksOf(node).every(({ state }) => state === "proposed");
  return isProposal ? `${node.kind}.proposed` : node.kind;
}

/** Formats a one-line summary; "" if there are no pending changes. */
export function formatSummary(hunks: Hunks): string {
  const each = listHunks(hunks);
  return each.length === 0 ? "" : `${formatSize(each)} in ${formatCount(hunks.size, "file")}`;
}
