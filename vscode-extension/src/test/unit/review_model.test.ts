// req: H6, H9
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EventData, FileHunks, HunkState } from "../../connection/protocol";
import type { Hunk } from "../../snapshot/items";
import { type Hunks, applyHunkEvent, findHunkAt, listFiles, findNextHunk, listHunksOfFile, replaceSession, splitSelection, setHunk } from "../../review/model";
import { eventOf, examples } from "../support/golden";
import { hunk, hunksOf } from "../support/hunks";

const URI = (eventOf("file_change").data as EventData["file_change"]).uri;

const ids = (hunks: readonly Hunk[]) => hunks.map(({ id }) => id);

test("a change brings its hunks, a decision removes them", () => {
  const hunks: Hunks = new Map();
  assert.deepEqual(applyHunkEvent(hunks, eventOf("file_change")), [URI]);
  assert.deepEqual(ids(listHunksOfFile(hunks, URI)), ["h1"]);
  assert.deepEqual(applyHunkEvent(hunks, eventOf("hunk_state")), [URI]);
  assert.deepEqual(listFiles(hunks), []);
});

test("a hunk of an event and of a result is the same hunk", () => {
  const hunks: Hunks = new Map();
  const other: Hunks = new Map();
  applyHunkEvent(hunks, eventOf("file_change"));
  const listed = examples.find(({ method }) => method === "agent/hunks")?.result as { files: FileHunks[] };
  replaceSession(other, "s1", listed.files);
  const [one] = listHunksOfFile(hunks, URI);
  assert.deepEqual(one, listHunksOfFile(other, URI)[0]);
  assert.deepEqual([one?.first, one?.last, one?.oldLines], [9, 11, ["    return total - discount"]]);
});

test("a subscription replaces the hunks of its session and no others", () => {
  const hunks = hunksOf(hunk("mine", 1, 2), hunk("other", 5, 6, { sessionId: "s2" }));
  assert.deepEqual(replaceSession(hunks, "s1", []), ["file:///a"]);
  assert.deepEqual(ids(listHunksOfFile(hunks, "file:///a")), ["other"]);
});

for (const state of ["kept", "undone", "gone"] satisfies HunkState[]) {
  test(`a hunk that is ${state} is not shown`, () => {
    const hunks = hunksOf(hunk("h", 0, 1));
    setHunk(hunks, hunk("h", 0, 1, { state }));
    assert.deepEqual(listFiles(hunks), []);
  });
}

test("the hunk at a line is found, for a removal at the line after it", () => {
  const inOrder = [hunk("one", 2, 4), hunk("removal", 7, 7)];
  assert.deepEqual([1, 2, 3, 4, 7, 8].map((line) => findHunkAt(inOrder, line)?.id), [undefined, "one", "one", undefined, "removal", undefined]);
});

test("next and previous go through the file, on to others, and wrap around", () => {
  const hunks = hunksOf(hunk("a1", 2, 4), hunk("a2", 7, 7), hunk("b1", 0, 1, { uri: "file:///b" }), hunk("c1", 3, 3, { uri: "file:///c" }));
  const go = (uri: string, line: number, by: 1 | -1) => findNextHunk(hunks, { uri, line }, by)?.hunk.id;
  assert.deepEqual([go("file:///a", 0, 1), go("file:///a", 2, 1), go("file:///a", 7, 1), go("file:///c", 3, 1)], ["a1", "a2", "b1", "a1"]);
  assert.deepEqual([go("file:///a", 9, -1), go("file:///a", 7, -1), go("file:///a", 2, -1), go("file:///b", 0, -1)], ["a2", "a1", "c1", "a2"]);
  assert.deepEqual([findNextHunk(hunks, undefined, 1)?.hunk.id, findNextHunk(hunks, undefined, -1)?.hunk.id], ["a1", "c1"]);
  assert.equal(findNextHunk(new Map(), undefined, 1), undefined);
});

test("a selection contains whole hunks, and lines of partly selected ones", () => {
  const placed = [hunk("a", 2, 5), hunk("gone", 7, 7), hunk("b", 9, 11)].map((each) => ({ hunk: each, first: each.first, last: each.last }));
  const split = (first: number, last: number) => {
    const { whole, parts } = splitSelection(placed, first, last);
    return [whole.map(({ id }) => id), parts.map((part) => [part.hunk.id, ...part.lines])];
  };
  assert.deepEqual(split(0, 20), [["a", "gone", "b"], []]);
  assert.deepEqual(split(3, 10), [["gone"], [["a", 1, 3], ["b", 0, 1]]]);
  assert.deepEqual(split(3, 4), [[], [["a", 1, 2]]]);
  assert.deepEqual(split(5, 7), [[], []]);
  assert.deepEqual(split(2, 5), [["a"], []]);
});
