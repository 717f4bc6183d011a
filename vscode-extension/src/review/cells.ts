// The parts of hunks in the cells of notebooks. Pure.
import type { FileHunks, HunkInfo } from "../connection/protocol";
import type { Hunk, HunkCell } from "../snapshot/items";

/** The scheme of documents of notebook cells. */
export const CELL_SCHEME = "vscode-notebook-cell";

export function withoutEnds(lines: readonly string[]): string[] {
  return lines.map((line) => line.replace(/\r?\n$/, ""));
}

/** Converts the cells of a hunk of a result or of `agent/hunksMoved`. */
export function cellsOf(raw: Pick<HunkInfo, "cells">): { readonly cells?: readonly HunkCell[] } {
  if (!raw.cells) return {};
  const cells = raw.cells.map(({ cell, uri, range, oldLines, newLines }) =>
    ({ cell, ...(uri !== undefined && { uri }), first: range[0], last: range[1], oldLines: withoutEnds(oldLines), newLines: withoutEnds(newLines) }));
  return { cells };
}

/**
 * The parts of hunks in the cell with this URI, from top to bottom. Each is a hunk with lines of the cell, and `cells`
 * are all parts of the hunk in the cell.
 */
export function inCell(hunks: readonly Hunk[], uri: string): Hunk[] {
  const parts = hunks.flatMap((hunk) => {
    const cells = (hunk.cells ?? []).filter((cell) => cell.uri === uri);
    return cells.map(({ first, last, oldLines, newLines }) => ({ ...hunk, first, last, oldLines, newLines, cells }));
  });
  return parts.sort((a, b) => a.first - b.first);
}

/**
 * Whether the positions are for the cells of an open notebook as they are now. `versions` are those of its cell
 * documents, by URI.
 */
export function areCurrent({ hunks }: Pick<FileHunks, "hunks">, versions: ReadonlyMap<string, number>): boolean {
  return hunks.every(({ cells }) => (cells ?? []).every(({ uri, version }) => uri !== undefined && versions.get(uri) === version));
}

/** A line of a cell, by the cell's index in its notebook. */
export interface CellLine {
  readonly cell: number;
  readonly line: number;
}

/**
 * A line of the notebook's file from which the next (1) or previous (-1) hunk is the one after or before a line of a
 * cell. `inOrder` are the hunks of the file, from top to bottom.
 */
export function fileLine(inOrder: readonly Hunk[], here: CellLine, by: 1 | -1): number {
  const before = (hunk: Hunk) => {
    const [part] = hunk.cells ?? [];
    return part === undefined || part.cell < here.cell || (part.cell === here.cell && part.first <= here.line);
  };
  if (by === 1) return inOrder.filter(before).at(-1)?.first ?? -1;
  const behind = inOrder.filter(({ cells: [part] = [] }) => part && (part.cell > here.cell || (part.cell === here.cell && part.first >= here.line)));
  return behind[0]?.first ?? Number.POSITIVE_INFINITY;
}
