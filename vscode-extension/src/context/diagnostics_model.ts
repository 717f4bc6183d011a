// When the problems of a file are told, and whether they are all that will come for its text. Pure; times are given.

export const PUBLISH_QUIET_MS = 350; // checkers publish in bursts: parse errors first, types later
export const SILENCE_MS = 1_000; // no checker has said anything of a new text: the old problems still hold, or none is at work

/** What happened to a file, in milliseconds of any one clock. */
export interface Moments {
  /** Its text changed. */
  readonly changedMs?: number;
  /** A checker published. */
  readonly publishedMs?: number;
}

/** From when on nothing more is expected for the text as it is. */
export function settlesAtMs({ changedMs, publishedMs }: Moments): number {
  const changed = changedMs ?? -Infinity;
  const published = publishedMs ?? -Infinity;
  return published >= changed ? published + PUBLISH_QUIET_MS : changed + SILENCE_MS;
}

/** Which reports are worth sending: an equal one was told already. */
export class Told {
  private readonly last = new Map<string, string>();

  isNew(uri: string, report: object): boolean {
    const told = JSON.stringify(report);
    if (this.last.get(uri) === told) return false;
    this.last.set(uri, told);
    return true;
  }

  clear(): void {
    this.last.clear();
  }
}
