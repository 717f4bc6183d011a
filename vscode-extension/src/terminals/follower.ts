// Follows the output of one command from its first character to its end, whoever has it. Pure: it is told when to look.

export interface Read {
  readonly text: string;
  /** Of the next read; code points from the beginning. */
  readonly nextOffset: number;
  readonly running: boolean;
  readonly exitCode?: number | null;
}

/** The output as the transcript has it: long output without its middle. `end`: once it has ended, how. */
export interface Told {
  readonly text: string;
  readonly end?: string;
}

export interface Source {
  /** All output from an offset; undefined when the server keeps none of it, or is too old to give it. */
  read(offset: number): Promise<Read | undefined>;
  told(): Told | undefined;
}

export interface Sink {
  write(text: string): void;
  /** Called once. `how`: a few words. */
  end(how: string): void;
}

export function endWords(exitCode: number | null | undefined): string {
  return typeof exitCode === "number" ? `exit ${exitCode}` : "ended";
}

export class Follower {
  private offset = 0;
  private toldChars = 0;
  private isLooking = false;
  private mustLookAgain = false;
  private hasEnded = false;

  constructor(
    private readonly source: Source,
    private readonly sink: Sink,
  ) {}

  get isRunning(): boolean {
    return !this.hasEnded;
  }

  /** Writes what is new. While it does, further calls only make it look once more. */
  async look(): Promise<void> {
    if (this.isLooking) {
      this.mustLookAgain = true;
      return;
    }
    this.isLooking = true;
    try {
      await this.lookOnce();
    } finally {
      this.isLooking = false;
    }
    if (!this.takeAgain()) return;
    await this.look();
  }

  private takeAgain(): boolean {
    const again = this.mustLookAgain && !this.hasEnded;
    this.mustLookAgain = false;
    return again;
  }

  private async lookOnce(): Promise<void> {
    while (!this.hasEnded) {
      const read = await this.source.read(this.offset);
      if (!read) {
        this.lookAtTold();
        return;
      }
      if (read.text !== "") this.sink.write(read.text);
      const isAll = read.nextOffset <= this.offset || read.text === "";
      this.offset = Math.max(this.offset, read.nextOffset);
      // Output and end may come in one answer, but more output never comes after the end.
      if (!read.running && isAll) this.finish(this.source.told()?.end ?? endWords(read.exitCode));
      if (isAll) return;
    }
  }

  private lookAtTold(): void {
    const told = this.source.told();
    if (!told) return;
    // What was read from the server is not repeated. Nor is what streamed, by an end that is shorter: it lacks the middle.
    const isRepeated = this.offset > 0 || (told.end !== undefined && told.text.length < this.toldChars);
    if (!isRepeated) this.sink.write(told.text.slice(this.toldChars));
    this.toldChars = Math.max(this.toldChars, told.text.length);
    if (told.end !== undefined) this.finish(told.end);
  }

  private finish(how: string): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.sink.end(how);
  }
}
