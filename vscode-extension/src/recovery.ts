// When to start a server again that ended by itself. Pure: times are given.

const DELAYS_MS = [1_000, 4_000, 15_000] as const;
const WINDOW_MS = 3 * 60_000; // an end that long ago says nothing of the next

/** How long to wait after an end at `nowMs`, the `endsMs` before it known; undefined: leave it to the user. */
export function restartDelayMs(endsMs: readonly number[], nowMs: number): number | undefined {
  const recent = endsMs.filter((end) => nowMs - end < WINDOW_MS);
  return DELAYS_MS[recent.length];
}
