// req: H9
import assert from "node:assert/strict";
import { test } from "node:test";
import { restartDelayMs } from "../../recovery";

const MINUTE_MS = 60_000;

test("each end within three minutes waits longer, the fourth is left to the user", () => {
  const delays = [[], [0], [0, 10], [0, 10, 20]].map((ends) => restartDelayMs(ends, 100));
  assert.deepEqual(delays, [1_000, 4_000, 15_000, undefined]);
});

test("an end long ago does not count", () => {
  assert.equal(restartDelayMs([0, 10, 20], 4 * MINUTE_MS), 1_000);
});
