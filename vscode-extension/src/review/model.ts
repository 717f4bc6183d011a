// The open hunks of all sessions by file, as last reported by the server. Pure; computes no positions and no diffs.
import type { AgentEvent, EventData, EventHunk, FileHunks, HunkInfo, HunkState } from "../connection/protocol";
import type { Hunk } from "../snapshot/items";
import { cellsOf, stripLineEnds } from "./cells";

/** Hunks that need a decision, by file URI and then by hunk id. */
export type Hunks = Map<string, Map<string, Hunk>>;

const OPEN: ReadonlySet<HunkState> = new Set<HunkState>(["proposed", "pending", "edited", "stale"]);

export function isOpen(state: HunkState): boolean {
  return OPEN.has(state);
}

/** Converts a hunk that an event contains. */
export function hunkOf(raw: EventHunk): Hunk {
  const { id, sessionId, turnId, callId, what, state, link, looked } = raw;
  return {
    ...(link && { link }), ...(looked && { looked: true as const }), id, uri: raw.uri, sessionId, turnId, callId, what, state,
    first: raw.start, last: raw.end, oldLines: stripLineEnds(raw.baseLines), newLines: stripLineEnds(raw.lines),
  };
}

/** Converts a hunk that the result of a request contains. */
export function hunkOfInfo(raw: HunkInfo, uri: string): Hunk {
  const { id, sessionId, turnId, callId, what, state, newRange, link, looked } = raw;
  return {
    ...(link && { link }), ...(looked === true && { looked: true as const }), id, uri, sessionId, turnId, callId, what, state,
    first: newRange[0], last: newRange[1], oldLines: stripLineEnds(raw.oldLines), newLines: stripLineEnds(raw.newLines), ...cellsOf(raw),
  };
}

export function setHunk(hunks: Hunks, hunk: Hunk): void {
  const ofFile = hunks.get(hunk.uri) ?? new Map<string, Hunk>();
  if (isOpen(hunk.state)) ofFile.set(hunk.id, hunk);
  else ofFile.delete(hunk.id);
  if (ofFile.size > 0) hunks.set(hunk.uri, ofFile);
  else hunks.delete(hunk.uri);
}

/** Applies an event to the hunks. Returns the URIs whose hunks changed. */
export function applyHunkEvent(hunks: Hunks, event: AgentEvent): string[] {
  if (event.kind !== "file_change" && event.kind !== "hunk_state") return [];
  const data = event.data as EventData["file_change"] | EventData["hunk_state"];
  const changed = new Set<string>();
  for (const raw of data.hunks) {
    const hunk = hunkOf(raw);
    // Events have no cells. Keep the stored cells until the server sends new positions (agent/hunksMoved).
    const cells = hunks.get(hunk.uri)?.get(hunk.id)?.cells;
    setHunk(hunks, { ...hunk, ...(cells && { cells }) });
    changed.add(hunk.uri);
  }
  return [...changed];
}

/** Replaces the hunks of a session by those of its subscription. Returns the URIs that changed. */
export function replaceSession(hunks: Hunks, sessionId: string, files: readonly FileHunks[]): string[] {
  const changed = new Set<string>();
  for (const hunk of listHunks(hunks).filter((each) => each.sessionId === sessionId)) {
    setHunk(hunks, { ...hunk, state: "gone" });
    changed.add(hunk.uri);
  }
  for (const file of files) {
    for (const raw of file.hunks) setHunk(hunks, hunkOfInfo(raw, file.uri));
    changed.add(file.uri);
  }
  return [...changed];
}

/** Returns the open hunks of a file, from top to bottom. */
export function listHunksOfFile(hunks: Hunks, uri: string): Hunk[] {
  return [...(hunks.get(uri)?.values() ?? [])].sort((a, b) => a.first - b.first || (a.id < b.id ? -1 : 1));
}

/** Returns the URIs of the files with open hunks, sorted. */
export function listFiles(hunks: Hunks): string[] {
  return [...hunks.keys()].sort();
}

export function listHunks(hunks: Hunks): Hunk[] {
  return listFiles(hunks).flatMap((uri) => listHunksOfFile(hunks, uri));
}

/** Finds the hunk at a line. A removal has no lines in the file; it counts as being on the line after it. */
export function findHunkAt(inOrder: readonly Hunk[], line: number): Hunk | undefined {
  return inOrder.find((hunk) => line >= hunk.first && line < Math.max(hunk.last, hunk.first + 1));
}

/** The hunks in a selection. `whole`: completely selected; `parts`: partly, with lines [first, last) within the hunk. */
export interface SelectedHunks {
  readonly whole: readonly Hunk[];
  readonly parts: readonly { readonly hunk: Hunk; readonly lines: readonly [number, number] }[];
}

/**
 * Finds the hunks in the selected lines [first, last), which count from 0. `placed` contains the position of each hunk's
 * new lines in the text.
 */
export function splitSelection(placed: readonly { readonly hunk: Hunk; readonly first: number; readonly last: number }[], first: number, last: number): SelectedHunks {
  const among = placed.filter((each) => (each.first === each.last ? first <= each.first && each.first < last : first < each.last && each.first < last));
  const isWhole = (each: (typeof placed)[number]) => first <= each.first && each.last <= last;
  return {
    whole: among.filter(isWhole).map(({ hunk }) => hunk),
    parts: among.filter((each) => !isWhole(each)).map((each) => ({ hunk: each.hunk, lines: [Math.max(first, each.first) - each.first, Math.min(last, each.last) - each.first] })),
  };
}

export interface HunkLocation {
  readonly uri: string;
  readonly hunk: Hunk;
}

/** Finds the hunk after (1) or before (-1) a line, in this file or in the next files. After the last file starts again. */
export function findNextHunk(hunks: Hunks, here: { uri: string; line: number } | undefined, by: 1 | -1): HunkLocation | undefined {
  const uris = listFiles(hunks);
  const inFile = here ? listHunksOfFile(hunks, here.uri) : [];
  const beyond = inFile.filter((hunk) => here && (by === 1 ? hunk.first > here.line : hunk.first < here.line));
  const near = by === 1 ? beyond[0] : beyond.at(-1);
  if (near && here) return { uri: here.uri, hunk: near };
  const index = here ? uris.indexOf(here.uri) : -1;
  const start = index === -1 && by === -1 ? 0 : index;
  const uri = uris.at((start + by + uris.length) % Math.max(uris.length, 1));
  if (uri === undefined) return undefined;
  const inOrder = listHunksOfFile(hunks, uri);
  const hunk = by === 1 ? inOrder[0] : inOrder.at(-1);
  return hunk && { uri, hunk };
}
