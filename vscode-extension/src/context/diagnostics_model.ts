// Decides when to send a file's diagnostics, and whether they are final for its text. Pure; times are parameters.

export const PUBLISH_QUIET_MS = 350; // tools publish in bursts: parse errors first, type errors later
// after this time without a report about a new text: its known problems still hold, or no tool checks the file
export const SILENCE_MS = 1_000;

/** Times of a file's events, in milliseconds of any one clock. */
export interface Moments {
  /** Its text changed. */
  readonly changedMs?: number;
  /** A checker published. */
  readonly publishedMs?: number;
}

/** The time after which no more reports are expected for the current text. */
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
