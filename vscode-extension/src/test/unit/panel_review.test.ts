// req: H9
import assert from "node:assert/strict";
import { test } from "node:test";
import { inReadingOrder, runsOf } from "../../browser/review";
import { hunk } from "../support/hunks";

const HUNKS = [hunk("a1", 0, 1), hunk("a2", 5, 6), hunk("b1", 0, 1, { uri: "file:///b" })];
const ids = (hunks: readonly { id: string }[]) => hunks.map(({ id }) => id);

test("changes are in reading order, and unknown ones come last", () => {
  assert.deepEqual(ids(inReadingOrder(HUNKS, ["b1", "a2"])), ["b1", "a2", "a1"]);
  assert.deepEqual(ids(inReadingOrder(HUNKS, [])), ["a1", "a2", "b1"]);
});

test("a file has a heading for each run of its changes", () => {
  assert.deepEqual(runsOf(inReadingOrder(HUNKS, ["a1", "b1", "a2"])).map(ids), [["a1"], ["b1"], ["a2"]]);
  assert.deepEqual(runsOf(HUNKS).map(ids), [["a1", "a2"], ["b1"]]);
  assert.deepEqual(runsOf([]), []);
});
