// The parts of hunks that are in notebook cells. Pure.
import type { FileHunks, HunkInfo } from "../connection/protocol";
import type { Hunk, HunkCell } from "../snapshot/items";

/** The URI scheme of notebook cells. */
export const CELL_SCHEME = "vscode-notebook-cell";

export function stripLineEnds(lines: readonly string[]): string[] {
  return lines.map((line) => line.replace(/\r?\n$/, ""));
}

/** Converts the cells of a hunk that a result or `agent/hunksMoved` contains. */
export function cellsOf(raw: Pick<HunkInfo, "cells">): { readonly cells?: readonly HunkCell[] } {
  if (!raw.cells) return {};
  const cells = raw.cells.map(({ cell, uri, range, oldLines, newLines }) =>
    ({ cell, ...(uri !== undefined && { uri }), first: range[0], last: range[1], oldLines: stripLineEnds(oldLines), newLines: stripLineEnds(newLines) }));
  return { cells };
}

/**
 * Returns the parts of hunks in the cell with this URI, from top to bottom. Each part has the form of a hunk, with lines
 * of the cell. Its `cells` are all parts of the same hunk in this cell.
 */
export function hunksInCell(hunks: readonly Hunk[], uri: string): Hunk[] {
  const parts = hunks.flatMap((hunk) => {
    const cells = (hunk.cells ?? []).filter((cell) => cell.uri === uri);
    return cells.map(({ first, last, oldLines, newLines }) => ({ ...hunk, first, last, oldLines, newLines, cells }));
  });
  return parts.sort((a, b) => a.first - b.first);
}

/**
 * Whether the positions are for the current texts of an open notebook's cells. `versions` contains the current version
 * of each cell document by URI.
 */
export function areCurrent({ hunks }: Pick<FileHunks, "hunks">, versions: ReadonlyMap<string, number>): boolean {
  return hunks.every(({ cells }) => (cells ?? []).every(({ uri, version }) => uri !== undefined && versions.get(uri) === version));
}

/** A line of a cell. `cell` is the cell's index in the notebook. */
export interface CellLine {
  readonly cell: number;
  readonly line: number;
}

/**
 * Converts a line of a cell to a line of the notebook's file, from which a search for the next (1) or previous (-1) hunk
 * finds the right one. `inOrder` are the hunks of the file, from top to bottom.
 */
export function toFileLine(inOrder: readonly Hunk[], here: CellLine, by: 1 | -1): number {
  const before = (hunk: Hunk) => {
    const [part] = hunk.cells ?? [];
    return part === undefined || part.cell < here.cell || (part.cell === here.cell && part.first <= here.line);
  };
  if (by === 1) return inOrder.filter(before).at(-1)?.first ?? -1;
  const behind = inOrder.filter(({ cells: [part] = [] }) => part && (part.cell > here.cell || (part.cell === here.cell && part.first >= here.line)));
  return behind[0]?.first ?? Number.POSITIVE_INFINITY;
}
