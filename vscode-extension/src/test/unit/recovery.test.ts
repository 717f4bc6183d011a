// req: H9
import assert from "node:assert/strict";
import { test } from "node:test";
import { UnexpectedEnds, restartDelayMs } from "../../connection/recovery";

const MINUTE_MS = 60_000;

test("each crash within three minutes delays the restart more, and after the fourth the user decides", () => {
  const delays = [[], [0], [0, 10], [0, 10, 20]].map((ends) => restartDelayMs(ends, 100));
  assert.deepEqual(delays, [1_000, 4_000, 15_000, undefined]);
});

test("an old crash does not count", () => {
  assert.equal(restartDelayMs([0, 10, 20], 4 * MINUTE_MS), 1_000);
});

test("after the last restart the user gets the number of crashes; a manual start resets the count", () => {
  const ends = new UnexpectedEnds();
  assert.deepEqual([0, 10, 20, 30].map((nowMs) => ends.add(nowMs)), [1_000, 4_000, 15_000, undefined]);
  assert.match(ends.description, /ended 4 times/);
  ends.forget();
  assert.equal(ends.add(40), 1_000);
});
