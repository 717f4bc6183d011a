// Asks the agent about text that is not in files: a terminal's selection or last command, and failed tests.
import * as vscode from "vscode";
import type { ChatPanel } from "../chat/panel";
import type { InputPart } from "../connection/protocol";
import type { Sessions } from "../sessions/session";
import { commandInput, formatTerminalCommand, formatTerminalText, formatTestFailure } from "./asking";
import type { TerminalTexts } from "./terminal_text";

/** The argument that VS Code passes to a command in the context menu of a failed test's message. */
interface MessageArgs {
  readonly test?: vscode.TestItem;
  readonly message: vscode.TestMessage;
}

export class OutsideActions {
  readonly commands: Readonly<Record<string, (...args: unknown[]) => unknown>> = {
    fixTerminal: () => this.askTerminal("fix", true),
    explainTerminal: () => this.askTerminal("explain", true),
    addTerminal: () => this.addTerminal(true),
    fixLastCommand: () => this.askTerminal("fix", false),
    explainLastCommand: () => this.askTerminal("explain", false),
    addLastCommand: () => this.addTerminal(false),
    fixTest: (target) => this.askTest("fix", target),
    explainTest: (target) => this.askTest("explain", target),
  };

  constructor(
    private readonly sessions: Sessions,
    private readonly terminals: TerminalTexts,
    private readonly panel: Pick<ChatPanel, "attach" | "focus" | "reveal">,
  ) {}

  private async askTerminal(command: "fix" | "explain", hasSelection: boolean): Promise<void> {
    const text = await this.terminalText(hasSelection);
    if (text !== undefined) await this.send([{ type: "text", text }, ...commandInput(command, [])]);
  }

  private async addTerminal(hasSelection: boolean): Promise<void> {
    const text = await this.terminalText(hasSelection);
    if (text === undefined) return;
    this.panel.attach({ label: `terminal: ${vscode.window.activeTerminal?.name ?? ""}`, part: { type: "text", text } });
    await this.panel.focus();
  }

  /** Returns the selected text of the active terminal; without a selection, its last command and output. */
  private async terminalText(hasSelection: boolean): Promise<string | undefined> {
    const selected = hasSelection ? await this.terminals.readSelection() : "";
    if (selected.trim() !== "") return formatTerminalText(selected);
    const command = await this.terminals.readLastCommand();
    if (command) return formatTerminalCommand(command);
    void vscode.window.showInformationMessage("agent-ls: agent-ls has seen no command in the active terminal. Run a command there, or select text in the terminal and use its context menu.");
    return undefined;
  }

  private async askTest(command: "fix" | "explain", target: unknown): Promise<void> {
    const { test, message } = (target ?? {}) as Partial<MessageArgs>;
    const item = test ?? (target as vscode.TestItem | undefined);
    if (!item || typeof item.label !== "string") return;
    const said = message ? (typeof message.message === "string" ? message.message : message.message.value) : "";
    const text = formatTestFailure({ label: item.label, message: said, expected: message?.expectedOutput, actual: message?.actualOutput });
    const file: InputPart[] = item.uri?.scheme === "file" ? [{ type: "file", uri: item.uri.toString() }] : [];
    await this.send([...file, { type: "text", text }, ...commandInput(command, [])]);
  }

  private async send(input: readonly InputPart[]): Promise<void> {
    await this.panel.reveal();
    await this.sessions.submit(input);
  }
}
