// Terminals of this window in which the server runs commands. The server requests them; they are shown on user request.
import * as vscode from "vscode";
import type { ClientRequests } from "../connection/protocol";

/** Environment variables that a program needs to start. The others, which may include API keys, are not passed on. */
const KEPT = ["PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"];

export class HostTerminals implements vscode.Disposable {
  private readonly terminals = new Map<string, vscode.Terminal>();
  private readonly calls = new Map<string, string>();
  /** Called when the command of a call starts in a terminal of this window. */
  onRun: (callId: string) => void = () => undefined;
  private readonly subscription = vscode.window.onDidCloseTerminal((closed) => {
    for (const [id, terminal] of this.terminals) if (terminal === closed) this.terminals.delete(id);
  });

  /** Opens a terminal without changing the focus or the visible panel. */
  open({ terminalId, argv, cwd, title }: ClientRequests["terminalOpen"]["params"]): Record<string, never> {
    const [shellPath = "", ...shellArgs] = argv;
    const env = Object.fromEntries(KEPT.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])));
    const terminal = vscode.window.createTerminal({
      name: title, shellPath, shellArgs, cwd, env, strictEnv: true,
      iconPath: new vscode.ThemeIcon("comment-discussion"),
      isTransient: true, // a reload ends the server and its commands
    });
    this.terminals.set(terminalId, terminal);
    return {};
  }

  recordRun({ terminalId, callId }: ClientRequests["terminalRuns"]["params"]): Record<string, never> {
    this.calls.set(callId, terminalId);
    this.onRun(callId);
    return {};
  }

  /** Shows the terminal of a call. False if the call has no terminal in this window, or the terminal was closed. */
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
