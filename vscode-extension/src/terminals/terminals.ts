// Shows the output of commands: in the terminal of this window in which the command runs, if there is one. Otherwise
// the output from the server is displayed in a terminal that is created on demand, also after a reload.
import * as vscode from "vscode";
import type { ToolItem } from "../snapshot/items";
import type { TerminalInfo } from "../connection/protocol";
import type { Change } from "../sessions/interfaces";
import type { Sessions } from "../sessions/session";
import type { HostTerminals } from "./host";
import type { Read, Source, TranscriptOutput } from "./follower";
import { OutputView } from "./view";

const KEY = "agentLs.terminals";
const NAME_CHARS = 24; // short enough for the terminal list, with the exit status added

interface DisplayedTerminal {
  readonly view: OutputView;
  readonly terminal: vscode.Terminal;
  readonly sessionId: string;
}

/** The terminals that the window displayed when it was closed. */
type Memory = readonly { readonly sessionId: string; readonly callId: string }[];

/** Requests about a command that the server runs. */
export interface CommandRequests {
  /** Reads its output from an offset; undefined if the server does not provide it. */
  read(sessionId: string, terminalId: string, offset: number): Promise<Read | undefined>;
  /** Sends input to it. False if it takes no input, because it has no terminal or has ended. */
  type(sessionId: string, terminalId: string, data: string): Promise<boolean>;
  resize(sessionId: string, terminalId: string, columns: number, rows: number): void;
}

function describeEnd({ result }: ToolItem): string | undefined {
  if (!result) return undefined;
  const how = typeof result.exitCode === "number" ? `exit ${result.exitCode}` : result.summary;
  return `${how}, ${(result.durationMs / 1000).toFixed(1)} s`;
}

/** Returns a short name for the terminal: the beginning of the command. The icon marks terminals of the agent. */
function nameOf(command: string): string {
  const line = command.split("\n")[0] ?? "";
  return line.length > NAME_CHARS ? `${line.slice(0, NAME_CHARS - 1)}…` : line;
}

export class Terminals implements vscode.Disposable {
  private readonly terminals = new Map<string, DisplayedTerminal>();
  private readonly subscriptions: { dispose(): void }[];

  constructor(
    private readonly sessions: Sessions,
    private readonly hosts: HostTerminals,
    private readonly memory: vscode.Memento,
    private readonly wire: CommandRequests,
  ) {
    this.subscriptions = [
      sessions.listen((change) => { this.take(change); }),
      vscode.window.onDidCloseTerminal((closed) => { this.onClosed(closed); }),
    ];
    hosts.onRun = (callId) => { this.replaceView(callId); };
  }

  /** Shows the output of a call without moving the focus. */
  show(callId: string): void {
    if (this.hosts.show(callId)) return;
    const item = this.sessions.snapshot.calls.get(callId);
    if (!item) return;
    const known = this.terminals.get(callId) ?? this.make(item);
    known.terminal.show(true);
  }

  /** Lets the user choose a command of this session, to view or to end it. */
  async choose(): Promise<void> {
    const running = new Set((await this.listTerminals()).filter((info) => typeof info.exitCode !== "number").map((info) => info.terminalId));
    const all = [...this.sessions.snapshot.terminals.values()].reverse();
    const items = all.map((terminal) => ({
      label: terminal.title,
      description: [terminal.background ? "background" : "", running.has(terminal.id) ? "running" : `exit ${terminal.exitCode ?? "unknown"}`].filter(Boolean).join(", "),
      terminal,
      buttons: running.has(terminal.id) ? [{ iconPath: new vscode.ThemeIcon("debug-stop"), tooltip: "Stop This Command" }] : [],
    }));
    const pick = vscode.window.createQuickPick<(typeof items)[number]>();
    pick.items = items;
    pick.placeholder = items.length > 0 ? "Choose a command of this session to see its output" : "No command has run in this session yet";
    pick.onDidAccept(() => {
      const [chosen] = pick.selectedItems;
      if (chosen) this.show(chosen.terminal.callId);
      pick.hide();
    });
    pick.onDidTriggerItemButton(({ item }) => {
      void this.kill(item.terminal.id);
      pick.hide();
    });
    pick.onDidHide(() => { pick.dispose(); });
    pick.show();
  }

  async kill(terminalId: string): Promise<void> {
    await this.sessions.requestForCurrent("agent/terminalKill", (change) => ({ ...change, terminalId }));
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
    for (const { terminal } of this.terminals.values()) terminal.dispose();
  }

  private async listTerminals(): Promise<readonly TerminalInfo[]> {
    const answer = await this.sessions.requestForCurrent("agent/terminals", ({ sessionId }) => ({ sessionId }));
    return answer?.terminals ?? [];
  }

  private make(item: ToolItem): DisplayedTerminal {
    const callId = item.id;
    const sessionId = this.sessions.currentId ?? "";
    const find = () => (this.sessions.currentId === sessionId ? this.sessions.snapshot.calls.get(callId) : undefined);
    const title = this.terminalOf(item)?.title ?? item.summary;
    const view = new OutputView(nameOf(title), title, this.source(sessionId, find), {
      stop: () => { this.stop(find()); },
      type: async (data) => {
        const id = find()?.terminalId;
        return id !== undefined && this.wire.type(sessionId, id, data);
      },
      resize: (columns, rows) => {
        const id = find()?.terminalId;
        if (id !== undefined) this.wire.resize(sessionId, id, columns, rows);
      },
    });
    const iconPath = new vscode.ThemeIcon("comment-discussion");
    const terminal = vscode.window.createTerminal({ name: view.name, pty: view, iconPath, isTransient: true });
    const shown = { view, terminal, sessionId };
    this.terminals.set(callId, shown);
    this.remember();
    return shown;
  }

  private terminalOf(item: ToolItem) {
    return item.terminalId === undefined ? undefined : this.sessions.snapshot.terminals.get(item.terminalId);
  }

  private source(sessionId: string, find: () => ToolItem | undefined): Source {
    return {
      read: async (offset) => {
        const id = find()?.terminalId;
        return id === undefined ? undefined : this.wire.read(sessionId, id, offset);
      },
      transcript: (): TranscriptOutput | undefined => {
        const item = find();
        if (!item) return undefined;
        const terminal = this.terminalOf(item);
        // The call of a background command ends as soon as the command has started.
        const isOver = item.background === true ? terminal?.running === false : item.result !== undefined;
        const end = item.background === true ? `exit ${terminal?.exitCode ?? "unknown"}` : describeEnd(item);
        return { text: item.part.text, ...(isOver && end !== undefined && { end }) };
      },
    };
  }

  private stop(item: ToolItem | undefined): void {
    if (item?.terminalId !== undefined) void this.kill(item.terminalId);
  }

  private onClosed(terminal: vscode.Terminal): void {
    const [callId, shown] = [...this.terminals].find(([, each]) => each.terminal === terminal) ?? [];
    if (callId === undefined || !shown) return;
    // If the user closes the terminal, stop the command; if the window closes it, the command continues.
    if (terminal.exitStatus?.reason === vscode.TerminalExitReason.User) shown.view.kill();
    this.terminals.delete(callId);
    if (terminal.exitStatus?.reason !== vscode.TerminalExitReason.Shutdown) this.remember();
  }

  /** Replaces an output view by the terminal of the command, which was opened after the view. */
  private replaceView(callId: string): void {
    const shown = this.terminals.get(callId);
    if (!shown) return;
    this.hosts.show(callId);
    shown.terminal.dispose();
  }

  private remember(): void {
    const now: Memory = [...this.terminals].filter(([, { view }]) => view.isRunning).map(([callId, { sessionId }]) => ({ sessionId, callId }));
    void this.memory.update(KEY, now);
  }

  /** Reopens the terminals of running commands after a reload, without showing them. */
  private reattach(): void {
    const { currentId, snapshot } = this.sessions;
    for (const { sessionId, callId } of this.memory.get<Memory>(KEY, [])) {
      const item = snapshot.calls.get(callId);
      if (sessionId !== currentId || !item || this.terminals.has(callId)) continue;
      if (this.terminalOf(item)?.running === true) this.make(item);
    }
  }

  private take({ event, switched }: Change): void {
    if (switched === true) {
      this.reattach();
      for (const { view } of this.terminals.values()) view.scheduleRead();
    }
    if (!event) return;
    const { callId, terminalId } = (event.data ?? {}) as { callId?: string; terminalId?: string };
    const ofTerminal = terminalId === undefined ? undefined : this.sessions.snapshot.terminals.get(terminalId)?.callId;
    const id = event.kind === "tool_call_output_delta" ? event.partId?.replace(/:out$/, "") : (callId ?? ofTerminal);
    if (id !== undefined) this.terminals.get(id)?.view.scheduleRead();
  }
}
