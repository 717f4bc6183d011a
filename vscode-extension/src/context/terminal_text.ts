// Text of the user's terminals: the selection, and the last command with its output. Shell integration reports commands;
// the selection is copied, because extensions cannot read it.
import * as vscode from "vscode";
import { type TerminalCommand, plainOutput, cutToTail } from "./asking";

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

  /** Returns the last command of the active terminal; undefined if its shell reports none. */
  async readLastCommand(): Promise<TerminalCommand | undefined> {
    const command = vscode.window.activeTerminal && this.last.get(vscode.window.activeTerminal);
    // For a short command the output stream may have started too late and be empty, so copy the output.
    if (command?.exitCode === undefined || plainOutput(command.output) !== "") return command;
    const output = await this.copyText("workbench.action.terminal.copyLastCommandOutput");
    return { ...command, output: cutToTail(output, KEPT_CHARS) };
  }

  /** The selected text of the active terminal, "" for none. */
  readSelection(): Promise<string> {
    return this.copyText("workbench.action.terminal.copySelection");
  }

  /** The whole text of the active terminal, "" for none. */
  async readAll(): Promise<string> {
    await vscode.commands.executeCommand("workbench.action.terminal.selectAll");
    try {
      return await this.readSelection();
    } finally {
      await vscode.commands.executeCommand("workbench.action.terminal.clearSelection");
    }
  }

  /** Runs a command that copies text, and returns the text; "" for none. Restores the clipboard. */
  private async copyText(command: string): Promise<string> {
    const { clipboard } = vscode.env;
    const before = await clipboard.readText();
    // Clear the clipboard, so that a command that copies nothing does not return what the user copied before. Do not
    // clear a clipboard without text: it may contain an image, which could not be restored.
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
    for await (const chunk of execution.read()) command.output = cutToTail(command.output + chunk, KEPT_CHARS);
  }
}
