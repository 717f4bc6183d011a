// A pseudoterminal that shows the output of a command that the server runs. Typed text is sent to the server if
// it runs the command in a terminal; otherwise only Ctrl+C has an effect.
import * as vscode from "vscode";
import { Follower, type Source } from "./follower";

const CTRL_C = "\x03";
const POLL_MS = 1_000; // background commands may produce output without an event
const SOON_MS = 40; // delay before a read, so that frequent output causes fewer reads

const dim = (text: string) => `\r\n\x1b[2m${text}\x1b[0m\r\n`;
const lines = (text: string) => text.replace(/\r?\n/g, "\r\n");

export interface CommandControl {
  /** Stops the command. */
  stop(): void;
  /** Sends input to the command. False if it takes no input. */
  type(data: string): Promise<boolean>;
  resize(columns: number, rows: number): void;
}

export class OutputView implements vscode.Pseudoterminal {
  private readonly written = new vscode.EventEmitter<string>();
  private readonly named = new vscode.EventEmitter<string>();
  private readonly follower: Follower;
  private poll: NodeJS.Timeout | undefined;
  private soon: NodeJS.Timeout | undefined;
  private isOpen = false;
  private wasReported = false;
  private wasStopped = false;
  readonly onDidWrite = this.written.event;
  readonly onDidChangeName = this.named.event;

  constructor(
    readonly name: string,
    private readonly command: string,
    source: Source,
    private readonly control: CommandControl,
  ) {
    this.follower = new Follower(source, {
      write: (text) => { this.written.fire(lines(text)); },
      end: (how) => { this.end(how); },
    });
  }

  get isRunning(): boolean {
    return this.follower.isRunning;
  }

  open(size: vscode.TerminalDimensions | undefined): void {
    this.isOpen = true;
    if (size) this.setDimensions(size);
    this.written.fire(`\x1b[1m$ ${lines(this.command)}\x1b[0m\r\n`);
    this.poll = setInterval(() => { this.readOutput(); }, POLL_MS);
    this.readOutput();
  }

  close(): void {
    this.isOpen = false;
    clearInterval(this.poll);
    clearTimeout(this.soon);
  }

  setDimensions({ columns, rows }: vscode.TerminalDimensions): void {
    if (this.isRunning) this.control.resize(columns, rows);
  }

  handleInput(data: string): void {
    if (!this.isRunning) return;
    void this.control.type(data).then((isTaken) => { if (!isTaken) this.handleRejectedInput(data); });
  }

  private handleRejectedInput(data: string): void {
    if (data === CTRL_C) this.kill();
    else if (!this.wasReported) {
      this.wasReported = true;
      this.written.fire(dim("[this terminal only shows output; Ctrl+C stops the command]"));
    }
  }

  /** Stops the command, but not the turn. Further calls do nothing. */
  kill(): void {
    if (!this.isRunning || this.wasStopped) return;
    this.wasStopped = true;
    this.written.fire(dim("[stopping…]"));
    this.control.stop();
  }

  /** Schedules a read, because there may be new output. */
  scheduleRead(): void {
    this.soon ??= setTimeout(() => {
      this.soon = undefined;
      this.readOutput();
    }, SOON_MS);
  }

  private readOutput(): void {
    if (this.isOpen) void this.follower.readNewOutput();
  }

  private end(how: string): void {
    clearInterval(this.poll);
    this.written.fire(dim(`[${how}]`));
    this.named.fire(`${this.name} — ${how}`);
  }
}
