// Shows what commands print in terminals, made when first looked at and fed from then on. It runs nothing.
import * as vscode from "vscode";
import type { ToolItem } from "./items";
import type { Change } from "./seams";
import type { Sessions } from "./session";

const CTRL_C = "\x03";
const dim = (text: string) => `\r\n\x1b[2m${text}\x1b[0m\r\n`;

function ending({ result }: ToolItem): string {
  if (!result) return "";
  const how = typeof result.exitCode === "number" ? `exit ${result.exitCode}` : result.summary;
  return dim(`[${how}, ${(result.durationMs / 1000).toFixed(1)} s]`);
}

class OutputView implements vscode.Pseudoterminal {
  private readonly written = new vscode.EventEmitter<string>();
  private readonly closed = new vscode.EventEmitter<void>();
  readonly onDidWrite = this.written.event;
  readonly onDidClose = this.closed.event;
  private fedChars = 0;
  private isOpen = false;
  private hasEnded = false;
  private wasTold = false;

  /** `find`: the call as it is now; a new subscription brings new items. */
  constructor(
    private readonly find: () => ToolItem | undefined,
    private readonly title: string,
    private readonly stop: () => void,
  ) {}

  open(): void {
    this.isOpen = true;
    this.written.fire(`\x1b[1m$ ${this.title.replaceAll("\n", "\r\n")}\x1b[0m\r\n`);
    this.feed();
  }

  close(): void {
    this.isOpen = false;
  }

  handleInput(data: string): void {
    if (data === CTRL_C && !this.hasEnded) this.stop();
    else if (!this.wasTold && !this.hasEnded) {
      this.wasTold = true;
      this.written.fire(dim("[this terminal shows output; Ctrl+C stops the command's turn]"));
    }
  }

  /** Writes what is new. */
  feed(): void {
    const item = this.find();
    if (!this.isOpen || this.hasEnded || !item) return;
    const { text } = item.part;
    // The end event repeats the output, cut when it is long: what streamed is better.
    const isRepeated = item.result !== undefined && this.fedChars > 0 && text.length < this.fedChars;
    if (!isRepeated) this.written.fire(text.slice(this.fedChars).replace(/\r?\n/g, "\r\n"));
    this.fedChars = text.length;
    if (item.result) {
      this.hasEnded = true;
      this.written.fire(ending(item));
    }
  }
}

interface Shown {
  readonly view: OutputView;
  readonly terminal: vscode.Terminal;
}

export class Terminals implements vscode.Disposable {
  private readonly shown = new Map<string, Shown>();
  private readonly subscriptions: { dispose(): void }[];

  constructor(private readonly sessions: Sessions) {
    this.subscriptions = [
      sessions.listen((change) => { this.take(change); }),
      vscode.window.onDidCloseTerminal((closed) => {
        for (const [callId, { terminal }] of this.shown) if (terminal === closed) this.shown.delete(callId);
      }),
    ];
  }

  /** Shows the output of a call, beside whatever has the focus. */
  show(callId: string): void {
    const item = this.sessions.snapshot.calls.get(callId);
    if (!item) return;
    const known = this.shown.get(callId) ?? this.make(item);
    this.shown.set(callId, known);
    known.terminal.show(true);
  }

  /** Lets the user choose a command of this session, to look at or to end. */
  async choose(): Promise<void> {
    const running = new Set((await this.sessions.terminals()).filter((info) => typeof info.exitCode !== "number").map((info) => info.terminalId));
    const all = [...this.sessions.snapshot.terminals.values()].reverse();
    const items = all.map((terminal) => ({
      label: terminal.title,
      description: [terminal.background ? "background" : "", terminal.running ? "running" : `exit ${terminal.exitCode ?? "unknown"}`].filter(Boolean).join(", "),
      terminal,
      buttons: running.has(terminal.id) ? [{ iconPath: new vscode.ThemeIcon("debug-stop"), tooltip: "End It" }] : [],
    }));
    const pick = vscode.window.createQuickPick<(typeof items)[number]>();
    pick.items = items;
    pick.placeholder = items.length > 0 ? "A command of this session, to see its output" : "No command has run in this session yet";
    pick.onDidAccept(() => {
      const [chosen] = pick.selectedItems;
      if (chosen) this.show(chosen.terminal.callId);
      pick.hide();
    });
    pick.onDidTriggerItemButton(({ item }) => {
      void this.sessions.kill(item.terminal.id);
      pick.hide();
    });
    pick.onDidHide(() => { pick.dispose(); });
    pick.show();
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
    for (const { terminal } of this.shown.values()) terminal.dispose();
  }

  private make(item: ToolItem): Shown {
    const terminal = item.terminalId === undefined ? undefined : this.sessions.snapshot.terminals.get(item.terminalId);
    const title = terminal?.title ?? item.summary;
    const stop = () => void (terminal?.background === true ? this.sessions.kill(terminal.id) : this.sessions.interrupt());
    const view = new OutputView(() => this.sessions.snapshot.calls.get(item.id), title, stop);
    const iconPath = new vscode.ThemeIcon("comment-discussion");
    return { view, terminal: vscode.window.createTerminal({ name: `agent: ${title.slice(0, 40)}`, pty: view, iconPath, isTransient: true }) };
  }

  private take({ event }: Change): void {
    if (!event) return;
    const { callId } = (event.data ?? {}) as { callId?: string };
    const id = event.kind === "tool_call_output_delta" ? event.partId?.replace(/:out$/, "") : callId;
    if (id !== undefined) this.shown.get(id)?.view.feed();
  }
}
