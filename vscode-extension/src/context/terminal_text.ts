// Text of the user's terminals: the selection, and the last command with its output. Shell integration reports commands;
// the selection is copied, because extensions cannot read it.
import * as vscode from "vscode";
import { type TerminalCommand, plainOutput, tailOf } from "./asking";

const KEPT_CHARS = 20_000; // the end of a command's output

export class TerminalTexts implements vscode.Disposable {
  private readonly last = new Map<vscode.Terminal, TerminalCommand>();
  private readonly subscriptions: vscode.Disposable[];

  constructor() {
    this.subscriptions = [
      vscode.window.onDidStartTerminalShellExecution(({ terminal, execution }) => { void this.follow(terminal, execution); }),
      vscode.window.onDidEndTerminalShellExecution(({ terminal, exitCode }) => {
        const command = this.last.get(terminal);
        if (command && exitCode !== undefined) command.exitCode = exitCode;
      }),
      vscode.window.onDidCloseTerminal((terminal) => { this.last.delete(terminal); }),
    ];
  }

  /** The last command of the active terminal; undefined if its shell reports none. */
  async lastCommand(): Promise<TerminalCommand | undefined> {
    const command = vscode.window.activeTerminal && this.last.get(vscode.window.activeTerminal);
    // The stream of a short command may have begun too late.
    if (command?.exitCode === undefined || plainOutput(command.output) !== "") return command;
    const output = await this.copied("workbench.action.terminal.copyLastCommandOutput");
    return { ...command, output: tailOf(output, KEPT_CHARS) };
  }

  /** The selected text of the active terminal, "" for none. */
  selection(): Promise<string> {
    return this.copied("workbench.action.terminal.copySelection");
  }

  /** The whole text of the active terminal, "" for none. */
  async all(): Promise<string> {
    await vscode.commands.executeCommand("workbench.action.terminal.selectAll");
    try {
      return await this.selection();
    } finally {
      await vscode.commands.executeCommand("workbench.action.terminal.clearSelection");
    }
  }

  /** The text that a command of the editor copies, "" for none. The clipboard is as before afterwards. */
  private async copied(command: string): Promise<string> {
    const { clipboard } = vscode.env;
    const before = await clipboard.readText();
    // Emptied first: if the command copies nothing, the user's text must not be taken for it. An empty text may mean that
    // the clipboard holds a picture, which stays.
    if (before !== "") await clipboard.writeText("");
    try {
      await vscode.commands.executeCommand(command);
      return await clipboard.readText();
    } finally {
      if (before !== "") await clipboard.writeText(before);
    }
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  private async follow(terminal: vscode.Terminal, execution: vscode.TerminalShellExecution): Promise<void> {
    const command: TerminalCommand = { line: execution.commandLine.value, output: "" };
    this.last.set(terminal, command);
    for await (const chunk of execution.read()) command.output = tailOf(command.output + chunk, KEPT_CHARS);
  }
}
