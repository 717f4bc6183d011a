// Decides when to send a file's diagnostics, and whether they are final for its text. Pure; times are parameters.

export const PUBLISH_QUIET_MS = 350; // tools publish in bursts: parse errors first, type errors later
// If no tool reports within this time after a change, the reported problems still apply, or no tool checks the
// file.
export const SILENCE_MS = 1_000;

/** Times of the last events of a file, in milliseconds of the same clock. */
export interface Moments {
  /** When its text was last changed. */
  readonly changedMs?: number;
  /** When a tool last published diagnostics for it. */
  readonly publishedMs?: number;
}

/** Returns the time after which no more reports are expected for the current text. */
export function settlesAtMs({ changedMs, publishedMs }: Moments): number {
  const changed = changedMs ?? -Infinity;
  const published = publishedMs ?? -Infinity;
  return published >= changed ? published + PUBLISH_QUIET_MS : changed + SILENCE_MS;
}

/** Filters out reports that equal the last one sent. */
export class SentReports {
  private readonly last = new Map<string, string>();

  isNew(uri: string, report: object): boolean {
    const encoded = JSON.stringify(report);
    if (this.last.get(uri) === encoded) return false;
    this.last.set(uri, encoded);
    return true;
  }

  clear(): void {
    this.last.clear();
  }
}
