// Hunks in the cells of notebooks.
// req: H6, H9, H15
import assert from "node:assert/strict";
import { test } from "node:test";
import type { HunkInfo } from "../../connection/protocol";
import type { HunkCell } from "../../snapshot/items";
import { areCurrent, toFileLine, hunksInCell } from "../../review/cells";
import { listHunks, applyHunkEvent, listHunksOfFile, replaceSession } from "../../review/model";
import { moveInCell, placeHunks } from "../../review/moving";
import { firstChangedLine, describeHunk, describePosition } from "../../review/words";
import { eventOf } from "../support/golden";
import { hunk, hunksOf } from "../support/hunks";

const URI = "file:///a";
const ONE = "vscode-notebook-cell:/a#1";
const TWO = "vscode-notebook-cell:/a#2";

function part(cell: number, first: number, last: number, more: Partial<HunkCell> = {}): HunkCell {
  return { cell, uri: cell === 0 ? ONE : TWO, first, last, oldLines: [], newLines: [], ...more };
}

function raw(id: string, cells: HunkInfo["cells"]): HunkInfo {
  return {
    id, sessionId: "s1", turnId: "t1", callId: "c1", what: "content", state: "pending", oldRange: [4, 5], newRange: [4, 5],
    oldLines: ["    \"x = 1\"\n"], newLines: ["    \"y = 2\"\n"], ...(cells && { cells }),
  };
}

const RAW_CELL = { cell: 1, uri: TWO, version: 3, range: [0, 1], oldLines: ["x = 1"], newLines: ["y = 2\n"] } as const;

test("a cell has the parts of all hunks in it, by its own lines", () => {
  const both = hunk("both", 9, 12, { cells: [part(0, 5, 6), part(1, 0, 2, { newLines: ["a", "b"] })] });
  const later = hunk("later", 4, 5, { cells: [part(0, 1, 1, { oldLines: ["gone"] })] });
  const hunks = [hunk("outputs only", 1, 2), both, later];
  assert.deepEqual(hunksInCell(hunks, ONE).map(({ id, first, last, oldLines }) => [id, first, last, oldLines]), [["later", 1, 1, ["gone"]], ["both", 5, 6, []]]);
  assert.deepEqual(hunksInCell(hunks, TWO).map(({ id, uri, newLines }) => [id, uri, newLines]), [["both", URI, ["a", "b"]]]);
  assert.deepEqual(hunksInCell(hunks, "vscode-notebook-cell:/other#1"), []);
});

test("the cells of a subscription and of new positions are used", () => {
  const hunks = hunksOf();
  replaceSession(hunks, "s1", [{ uri: URI, baseHash: "", hunks: [raw("h", [RAW_CELL])] }]);
  const expected: HunkCell = { cell: 1, uri: TWO, first: 0, last: 1, oldLines: ["x = 1"], newLines: ["y = 2"] };
  assert.deepEqual(listHunks(hunks)[0]?.cells, [expected]);
  const moved = (range: readonly [number, number]) => placeHunks(hunks, { uri: URI, hunks: [raw("h", [{ ...RAW_CELL, range }])] });
  assert.equal(moved([0, 1]), false);
  assert.equal(moved([2, 3]), true);
  assert.deepEqual(listHunks(hunks)[0]?.cells, [{ ...expected, first: 2, last: 3 }]);
  assert.equal(placeHunks(hunks, { uri: URI, hunks: [raw("h", undefined)] }), true);
  assert.equal(listHunks(hunks)[0]?.cells, undefined, "the agent's lines are in no cell any more");
});

test("an event of a hunk does not remove the known cells", () => {
  const event = eventOf("file_change");
  const hunks = hunksOf();
  const [uri = ""] = applyHunkEvent(hunks, event);
  const [known] = listHunksOfFile(hunks, uri);
  assert.ok(known);
  const cells = [part(0, 1, 2)];
  hunks.get(uri)?.set(known.id, { ...known, cells });
  applyHunkEvent(hunks, event);
  assert.deepEqual(listHunksOfFile(hunks, uri)[0]?.cells, cells);
});

test("typing in a cell moves the parts in this cell only", () => {
  const hunks = hunksOf(hunk("h", 9, 12, { cells: [part(0, 2, 3), part(1, 2, 3)] }));
  const line = { range: { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } }, text: "new\n" };
  assert.equal(moveInCell(hunks, URI, ONE, [line], () => 1), true);
  assert.deepEqual(listHunks(hunks).map(({ first, last, cells }) => [first, last, cells?.map((each) => each.first)]), [[9, 12, [3, 2]]]);
  assert.equal(moveInCell(hunks, URI, "vscode-notebook-cell:/a#3", [line], () => 1), false);
});

test("positions for other versions of the cells, or for cells that are not open, are not used", () => {
  const file = (cells: HunkInfo["cells"]) => ({ hunks: [raw("h", cells)] });
  const versions = new Map([[ONE, 1], [TWO, 3]]);
  const withoutDocument = { cell: 1, range: RAW_CELL.range, oldLines: [], newLines: [] };
  assert.equal(areCurrent(file([RAW_CELL]), versions), true);
  assert.equal(areCurrent(file(undefined), versions), true);
  assert.equal(areCurrent(file([{ ...RAW_CELL, version: 2 }]), versions), false);
  assert.equal(areCurrent(file([{ ...RAW_CELL, uri: "vscode-notebook-cell:/a#9" }]), versions), false);
  assert.equal(areCurrent(file([withoutDocument]), versions), false);
});

test("the search for the next change starts after the line of a cell, for the previous one before it", () => {
  const inOrder = [
    hunk("a", 10, 11, { cells: [part(0, 2, 3)] }),
    hunk("b", 20, 21, { cells: [part(1, 0, 1)] }),
    hunk("c", 30, 31, { cells: [part(1, 4, 5)] }),
  ];
  const from = (cell: number, line: number) => [toFileLine(inOrder, { cell, line }, 1), toFileLine(inOrder, { cell, line }, -1)];
  assert.deepEqual(from(0, 0), [-1, 10]);
  assert.deepEqual(from(0, 2), [10, 10]);
  assert.deepEqual(from(1, 2), [20, 30]);
  assert.deepEqual(from(2, 0), [30, Number.POSITIVE_INFINITY]);
});

test("a hunk of a notebook is named by the lines of its cells", () => {
  const json = hunk("h", 19, 21, {
    oldLines: ["    \"x = 1\""], newLines: ["    \"x = 1\\n\",", "    \"y = 2\""], cells: [part(1, 1, 2, { newLines: ["y = 2"] })],
  });
  assert.deepEqual([firstChangedLine(json), describeHunk(json), describePosition(json)], ["y = 2", "+1", "cell 2"]);
  assert.equal(describePosition(hunk("h", 19, 21)), "line 20");
});
