// Shows what a command prints: the terminal that it runs in, else one that is made when first looked at, and again
// after a reload, and shows what the server says.
import * as vscode from "vscode";
import type { ToolItem } from "../items";
import type { TerminalInfo } from "../protocol";
import type { Change } from "../seams";
import type { Sessions } from "../session";
import type { HostTerminals } from "./host";
import type { Read, Source, Told } from "./follower";
import { OutputView } from "./view";

const KEY = "agentLs.terminals";
const NAME_CHARS = 24; // with how it ended behind it, it is still read in the list of terminals

interface Shown {
  readonly view: OutputView;
  readonly terminal: vscode.Terminal;
  readonly sessionId: string;
}

/** What the window showed when it was closed. */
type Memory = readonly { readonly sessionId: string; readonly callId: string }[];

/** The commands of the server, as a view of one needs them. */
export interface CommandWire {
  /** Its output; undefined when the server gives none. */
  read(sessionId: string, terminalId: string, offset: number): Promise<Read | undefined>;
  /** False when it takes no input: it runs without a terminal, or has ended. */
  type(sessionId: string, terminalId: string, data: string): Promise<boolean>;
  resize(sessionId: string, terminalId: string, columns: number, rows: number): void;
}

function ending({ result }: ToolItem): string | undefined {
  if (!result) return undefined;
  const how = typeof result.exitCode === "number" ? `exit ${result.exitCode}` : result.summary;
  return `${how}, ${(result.durationMs / 1000).toFixed(1)} s`;
}

/** Its icon says that it is the agent's. */
function nameOf(command: string): string {
  const line = command.split("\n")[0] ?? "";
  return line.length > NAME_CHARS ? `${line.slice(0, NAME_CHARS - 1)}…` : line;
}

export class Terminals implements vscode.Disposable {
  private readonly shown = new Map<string, Shown>();
  private readonly subscriptions: { dispose(): void }[];

  constructor(
    private readonly sessions: Sessions,
    private readonly hosts: HostTerminals,
    private readonly memory: vscode.Memento,
    private readonly wire: CommandWire,
  ) {
    this.subscriptions = [
      sessions.listen((change) => { this.take(change); }),
      vscode.window.onDidCloseTerminal((closed) => { this.closed(closed); }),
    ];
    hosts.onRuns = (callId) => { this.moved(callId); };
  }

  /** Shows the output of a call, beside whatever has the focus. */
  show(callId: string): void {
    if (this.hosts.show(callId)) return;
    const item = this.sessions.snapshot.calls.get(callId);
    if (!item) return;
    const known = this.shown.get(callId) ?? this.make(item);
    known.terminal.show(true);
  }

  /** Lets the user choose a command of this session, to look at or to end. */
  async choose(): Promise<void> {
    const running = new Set((await this.listed()).filter((info) => typeof info.exitCode !== "number").map((info) => info.terminalId));
    const all = [...this.sessions.snapshot.terminals.values()].reverse();
    const items = all.map((terminal) => ({
      label: terminal.title,
      description: [terminal.background ? "background" : "", running.has(terminal.id) ? "running" : `exit ${terminal.exitCode ?? "unknown"}`].filter(Boolean).join(", "),
      terminal,
      buttons: running.has(terminal.id) ? [{ iconPath: new vscode.ThemeIcon("debug-stop"), tooltip: "Stop It" }] : [],
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
      void this.kill(item.terminal.id);
      pick.hide();
    });
    pick.onDidHide(() => { pick.dispose(); });
    pick.show();
  }

  async kill(terminalId: string): Promise<void> {
    await this.sessions.ofCurrent("agent/terminalKill", (change) => ({ ...change, terminalId }));
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
    for (const { terminal } of this.shown.values()) terminal.dispose();
  }

  private async listed(): Promise<readonly TerminalInfo[]> {
    const answer = await this.sessions.ofCurrent("agent/terminals", ({ sessionId }) => ({ sessionId }));
    return answer?.terminals ?? [];
  }

  private make(item: ToolItem): Shown {
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
    this.shown.set(callId, shown);
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
      told: (): Told | undefined => {
        const item = find();
        if (!item) return undefined;
        const terminal = this.terminalOf(item);
        // The call of a background command ends when it has begun.
        const isOver = item.background === true ? terminal?.running === false : item.result !== undefined;
        const end = item.background === true ? `exit ${terminal?.exitCode ?? "unknown"}` : ending(item);
        return { text: item.part.text, ...(isOver && end !== undefined && { end }) };
      },
    };
  }

  private stop(item: ToolItem | undefined): void {
    if (item?.terminalId !== undefined) void this.kill(item.terminalId);
  }

  private closed(terminal: vscode.Terminal): void {
    const [callId, shown] = [...this.shown].find(([, each]) => each.terminal === terminal) ?? [];
    if (callId === undefined || !shown) return;
    // Closed by the user is as good as stopped; closed with the window it goes on.
    if (terminal.exitStatus?.reason === vscode.TerminalExitReason.User) shown.view.kill();
    this.shown.delete(callId);
    if (terminal.exitStatus?.reason !== vscode.TerminalExitReason.Shutdown) this.remember();
  }

  /** A view that was asked for before the command had its terminal gives way to that. */
  private moved(callId: string): void {
    const shown = this.shown.get(callId);
    if (!shown) return;
    this.hosts.show(callId);
    shown.terminal.dispose();
  }

  private remember(): void {
    const now: Memory = [...this.shown].filter(([, { view }]) => view.isRunning).map(([callId, { sessionId }]) => ({ sessionId, callId }));
    void this.memory.update(KEY, now);
  }

  /** Those that were looked at before the window was reloaded, and run. The panel stays as it is. */
  private reattach(): void {
    const { currentId, snapshot } = this.sessions;
    for (const { sessionId, callId } of this.memory.get<Memory>(KEY, [])) {
      const item = snapshot.calls.get(callId);
      if (sessionId !== currentId || !item || this.shown.has(callId)) continue;
      if (this.terminalOf(item)?.running === true) this.make(item);
    }
  }

  private take({ event, switched }: Change): void {
    if (switched === true) {
      this.reattach();
      for (const { view } of this.shown.values()) view.changed();
    }
    if (!event) return;
    const { callId, terminalId } = (event.data ?? {}) as { callId?: string; terminalId?: string };
    const ofTerminal = terminalId === undefined ? undefined : this.sessions.snapshot.terminals.get(terminalId)?.callId;
    const id = event.kind === "tool_call_output_delta" ? event.partId?.replace(/:out$/, "") : (callId ?? ofTerminal);
    if (id !== undefined) this.shown.get(id)?.view.changed();
  }
}
