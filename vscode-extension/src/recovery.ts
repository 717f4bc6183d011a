// When to start a server again that ended by itself. Pure: times are given.

const DELAYS_MS = [1_000, 4_000, 15_000] as const;
const WINDOW_MS = 3 * 60_000; // an end that long ago says nothing of the next

/** How long to wait after an end at `nowMs`, the `endsMs` before it known; undefined: leave it to the user. */
export function restartDelayMs(endsMs: readonly number[], nowMs: number): number | undefined {
  const recent = endsMs.filter((end) => nowMs - end < WINDOW_MS);
  return DELAYS_MS[recent.length];
}

/** The ends of one server, as a window sees them. */
export class Ends {
  private endsMs: readonly number[] = [];

  /** It ended by itself: how long to wait, or undefined when the user is to decide. */
  add(nowMs: number): number | undefined {
    const delayMs = restartDelayMs(this.endsMs, nowMs);
    this.endsMs = [...this.endsMs, nowMs];
    return delayMs;
  }

  /** The user started it anew: what was before does not count. */
  forget(): void {
    this.endsMs = [];
  }

  /** For the user. */
  get words(): string {
    return `The server ended ${this.endsMs.length} times within a few minutes, and is not started again by itself.`;
  }
}
