// Follows the output of one command from its first character to its end. Reads from the server or, if it does not keep
// the output, from the transcript. Pure: callers report when there may be new output.

export interface Read {
  readonly text: string;
  /** Offset of the next read, in code points from the beginning. */
  readonly nextOffset: number;
  readonly running: boolean;
  readonly exitCode?: number | null;
}

/** The output in the transcript, without its middle if it is long. `end` describes how the command ended. */
export interface TranscriptOutput {
  readonly text: string;
  readonly end?: string;
}

export interface Source {
  /** Reads the output from an offset; undefined if the server does not keep it, or does not support the request. */
  read(offset: number): Promise<Read | undefined>;
  transcript(): TranscriptOutput | undefined;
}

export interface Sink {
  write(text: string): void;
  /** Called once with a short description of how the command ended. */
  end(how: string): void;
}

export function describeEnd(exitCode: number | null | undefined): string {
  return typeof exitCode === "number" ? `exit ${exitCode}` : "ended";
}

export class Follower {
  private offset = 0;
  private writtenChars = 0;
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

  /** Reads and writes new output. A call during a read makes that read repeat at its end. */
  async readNewOutput(): Promise<void> {
    if (this.isLooking) {
      this.mustLookAgain = true;
      return;
    }
    this.isLooking = true;
    try {
      await this.readOnce();
    } finally {
      this.isLooking = false;
    }
    if (!this.takeRepeatRequest()) return;
    await this.readNewOutput();
  }

  private takeRepeatRequest(): boolean {
    const again = this.mustLookAgain && !this.hasEnded;
    this.mustLookAgain = false;
    return again;
  }

  private async readOnce(): Promise<void> {
    while (!this.hasEnded) {
      const read = await this.source.read(this.offset);
      if (!read) {
        this.writeTranscript();
        return;
      }
      if (read.text !== "") this.sink.write(read.text);
      const isAll = read.nextOffset <= this.offset || read.text === "";
      this.offset = Math.max(this.offset, read.nextOffset);
      // A response may contain both output and the end of the command. After the end there is no more output.
      if (!read.running && isAll) this.finish(this.source.transcript()?.end ?? describeEnd(read.exitCode));
      if (isAll) return;
    }
  }

  private writeTranscript(): void {
    const transcript = this.source.transcript();
    if (!transcript) return;
    // Write nothing if the output was already read from the server, or if the final output is shorter than the streamed
    // one: a long output is stored without its middle.
    const isRepeated = this.offset > 0 || (transcript.end !== undefined && transcript.text.length < this.writtenChars);
    if (!isRepeated) this.sink.write(transcript.text.slice(this.writtenChars));
    this.writtenChars = Math.max(this.writtenChars, transcript.text.length);
    if (transcript.end !== undefined) this.finish(transcript.end);
  }

  private finish(how: string): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.sink.end(how);
  }
}
