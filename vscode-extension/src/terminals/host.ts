// Terminals of this window in which the server runs its commands: opened when it asks, shown when the user does.
import * as vscode from "vscode";
import type { ClientRequests, TerminalOpening } from "../protocol_asked";

/** What a program needs to start at all. The rest of this window's environment, keys included, is not its business. */
const KEPT = ["PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"];

export class HostTerminals implements vscode.Disposable {
  private readonly terminals = new Map<string, vscode.Terminal>();
  private readonly calls = new Map<string, string>();
  /** The command of that call runs in a terminal of this window from now on. */
  onRuns: (callId: string) => void = () => undefined;
  private readonly subscription = vscode.window.onDidCloseTerminal((closed) => {
    for (const [id, terminal] of this.terminals) if (terminal === closed) this.terminals.delete(id);
  });

  /** The focus, and what is in front, stay as they are. */
  open({ terminalId, argv, cwd, title }: TerminalOpening): Record<string, never> {
    const [shellPath = "", ...shellArgs] = argv;
    const env = Object.fromEntries(KEPT.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])));
    const terminal = vscode.window.createTerminal({
      name: title, shellPath, shellArgs, cwd, env, strictEnv: true,
      iconPath: new vscode.ThemeIcon("comment-discussion"),
      isTransient: true, // a reload ends the server, and with it what runs
    });
    this.terminals.set(terminalId, terminal);
    return {};
  }

  runs({ terminalId, callId }: ClientRequests["terminalRuns"]["params"]): Record<string, never> {
    this.calls.set(callId, terminalId);
    this.onRuns(callId);
    return {};
  }

  /** False when the call's command ran in no terminal of this window, or that is closed. */
  show(callId: string): boolean {
    const terminal = this.terminals.get(this.calls.get(callId) ?? "");
    terminal?.show(true);
    return terminal !== undefined;
  }

  dispose(): void {
    this.subscription.dispose();
    for (const terminal of this.terminals.values()) terminal.dispose();
  }
}
