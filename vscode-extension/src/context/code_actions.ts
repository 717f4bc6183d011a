// Code actions that ask the agent to fix or explain a problem, the selection, or the symbol at the cursor.
import * as vscode from "vscode";
import type { InputPart } from "../connection/protocol";
import type { Sessions } from "../sessions/session";
import { commandInput, linesOf, formatProblem, symbolAt } from "./asking";

const FIX = vscode.CodeActionKind.Refactor.append("agentLs.fix");
const EXPLAIN = vscode.CodeActionKind.Empty.append("agentLs.explain");

/** The source of diagnostics from the agent's code reviews. The server itself offers code actions for them. */
const OWN_SOURCE = "agent-ls";

function action(title: string, kind: vscode.CodeActionKind, command: string, args: readonly unknown[]): vscode.CodeAction {
  const made = new vscode.CodeAction(title, kind);
  made.command = { title, command, arguments: [...args] };
  return made;
}

/** The location that a command is about: its arguments, or the user's selection if it has none. */
interface Place {
  readonly uri: vscode.Uri;
  readonly range: vscode.Range;
}

function activePlace(): Place | undefined {
  const editor = vscode.window.activeTextEditor;
  return editor?.document.uri.scheme === "file" ? { uri: editor.document.uri, range: editor.selection } : undefined;
}

function placeOf(uri: unknown, range: unknown): Place | undefined {
  return uri instanceof vscode.Uri && range instanceof vscode.Range ? { uri, range } : activePlace();
}

async function selectionOf({ uri, range }: Place): Promise<InputPart> {
  const document = await vscode.workspace.openTextDocument(uri);
  const { startLine, endLine } = linesOf(range);
  const text = document.getText(new vscode.Range(startLine, 0, endLine, 0));
  return { type: "selection", uri: uri.toString(), startLine, endLine, text };
}

function problemsAt({ uri, range }: Place): vscode.Diagnostic[] {
  return vscode.languages.getDiagnostics(uri).filter((each) => each.range.intersection(range) !== undefined);
}

/** Returns the symbol around a cursor. Returns `place` itself if it is a selection, or if no symbol is known there. */
async function withSymbol(place: Place): Promise<Place> {
  if (!place.range.isEmpty) return place;
  const found = await vscode.commands.executeCommand<vscode.DocumentSymbol[] | undefined>("vscode.executeDocumentSymbolProvider", place.uri);
  return { uri: place.uri, range: symbolAt(found ?? [], place.range.start.line)?.range ?? place.range };
}

export class AgentActions implements vscode.CodeActionProvider, vscode.Disposable {
  private readonly subscription: vscode.Disposable;
  readonly commands: Readonly<Record<string, (...args: unknown[]) => unknown>>;

  constructor(
    private readonly sessions: Sessions,
    private readonly showChat: () => Promise<void>,
  ) {
    const providedCodeActionKinds = [vscode.CodeActionKind.QuickFix, FIX, EXPLAIN];
    this.subscription = vscode.languages.registerCodeActionsProvider({ scheme: "file" }, this, { providedCodeActionKinds });
    this.commands = {
      fixHere: (uri, range) => this.ask("fix", placeOf(uri, range)),
      explainHere: (uri, range) => this.ask("explain", placeOf(uri, range)),
      testsHere: () => this.ask("tests", activePlace()),
      documentHere: () => this.ask("document", activePlace()),
      fixFile: () => this.fixFile(),
    };
  }

  provideCodeActions(document: vscode.TextDocument, range: vscode.Range, context: vscode.CodeActionContext): vscode.CodeAction[] {
    const at = [document.uri, range];
    const actions: vscode.CodeAction[] = [];
    const problems = context.diagnostics.filter(({ source }) => source !== OWN_SOURCE);
    if (problems.length > 0) {
      const fix = action("Fix with agent", vscode.CodeActionKind.QuickFix, "agentLs.fixHere", at);
      fix.diagnostics = problems;
      actions.push(fix, action("Explain with agent", vscode.CodeActionKind.QuickFix, "agentLs.explainHere", at));
    }
    // Without a problem, offer actions only on explicit request: otherwise every selection and word would get a
    // light bulb.
    const isAsked = context.triggerKind === vscode.CodeActionTriggerKind.Invoke && context.diagnostics.length === 0;
    if (isAsked && !range.isEmpty) actions.push(action("Explain with agent", EXPLAIN, "agentLs.explainHere", at));
    else if (isAsked && document.getWordRangeAtPosition(range.start)) {
      actions.push(action("Fix with agent", FIX, "agentLs.fixHere", at), action("Explain with agent", EXPLAIN, "agentLs.explainHere", at));
    }
    return actions;
  }

  dispose(): void {
    this.subscription.dispose();
  }

  private async ask(command: string, place: Place | undefined): Promise<void> {
    if (!place) return;
    const problems = command === "fix" || command === "explain" ? problemsAt(place) : [];
    const lines = problems.length === 0 ? await withSymbol(place) : place;
    await this.send([await selectionOf(lines), ...commandInput(command, problems.map(formatProblem))]);
  }

  private async fixFile(): Promise<void> {
    const place = activePlace();
    if (!place) return;
    const uri = place.uri.toString();
    await this.send([{ type: "file", uri }, { type: "diagnostics", uri }, ...commandInput("fix", [])]);
  }

  private async send(input: readonly InputPart[]): Promise<void> {
    await this.showChat();
    await this.sessions.submit(input);
  }
}
