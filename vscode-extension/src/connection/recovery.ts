// Decides when to restart a server that ended unexpectedly. Pure: times are parameters.

const DELAYS_MS = [1_000, 4_000, 15_000] as const;
const WINDOW_MS = 3 * 60_000; // older ends are ignored

/**
 * Returns the delay before a restart of a server that exited at `nowMs`, and before at `endsMs`. Returns
 * undefined after too many exits; the user then decides whether to restart it.
 */
export function restartDelayMs(endsMs: readonly number[], nowMs: number): number | undefined {
  const recent = endsMs.filter((end) => nowMs - end < WINDOW_MS);
  return DELAYS_MS[recent.length];
}

/** Unexpected ends of the server in this window. */
export class UnexpectedEnds {
  private endsMs: readonly number[] = [];

  /** Adds an unexpected end. Returns the delay before a restart, undefined if the user has to decide. */
  add(nowMs: number): number | undefined {
    const delayMs = restartDelayMs(this.endsMs, nowMs);
    this.endsMs = [...this.endsMs, nowMs];
    return delayMs;
  }

  /** Forgets earlier ends, because the user has restarted the server. */
  forget(): void {
    this.endsMs = [];
  }

  /** Description for the user. */
  get description(): string {
    return `The server ended ${this.endsMs.length} times within a few minutes, and is not restarted automatically.`;
  }
}
