// What the user does in the chat, as requests of the session and commands of the editor.
import { isAbsolute, join } from "node:path";
import * as vscode from "vscode";
import type { InputPart } from "../protocol";
import type { ReviewActions } from "../review/actions";
import type { Sessions } from "../session";
import type { Terminals } from "../terminal";
import type { FromView, HostCommand, ToView } from "../webview/messages";

type Message = Exclude<FromView, { type: "ready" | "earlier" }>;
type Submit = Extract<FromView, { type: "submit" }>;

const COMMANDS: Record<HostCommand, string> = {
  newSession: "agentLs.newSession",
  sessions: "agentLs.sessions",
  demo: "agentLs.demo",
  configure: "agentLs.configure",
  nextHunk: "agentLs.nextHunk",
  keepAll: "agentLs.keepAll",
  undoAll: "agentLs.undoAll",
};

export class Inbox {
  constructor(
    private readonly sessions: Sessions,
    private readonly review: ReviewActions,
    private readonly terminals: Terminals,
  ) {}

  /** Does what was asked; the answer, if any, goes back to the view. */
  async take(message: Message): Promise<ToView | undefined> {
    switch (message.type) {
      case "submit":
        return this.submit(message);
      case "stop":
        await this.sessions.interrupt();
        break;
      case "unsteer":
        await this.sessions.unsteer(message.steerId);
        break;
      case "allow":
        await this.allow(message.requestId, message.ruleId);
        break;
      case "deny":
        await this.deny(message.requestId, message.reason);
        break;
      case "review":
        await this.review.judge(message.hunkIds, message.verdict);
        break;
      case "openFile":
        await openFile(message.target, this.sessions.snapshot.session.workspaceFolder);
        break;
      case "terminal":
        this.terminals.show(message.callId);
        break;
      case "kill":
        await this.sessions.kill(message.terminalId);
        break;
      case "mode":
        await this.sessions.configure({ mode: message.mode });
        break;
      case "command":
        await vscode.commands.executeCommand(COMMANDS[message.command]);
        break;
    }
    return undefined;
  }

  private async submit({ text, attachments, how }: Submit): Promise<ToView | undefined> {
    const input: InputPart[] = attachments.map(({ part }) => part);
    if (text.trim() !== "") input.push({ type: "text", text });
    if (input.length === 0 || (await this.sessions.submit(input, how))) return undefined;
    return { type: "unsent", text, attachments };
  }

  private async allow(requestId: string, ruleId: string | null): Promise<void> {
    const item = this.sessions.snapshot.requests.get(requestId);
    const rule = item?.request.rules.find((each) => each.id === ruleId);
    if (item) await this.sessions.approve(item, { decision: "allow", ...(rule && { scope: rule.scope, ruleId: rule.id }) });
  }

  private async deny(requestId: string, reason: string): Promise<void> {
    const item = this.sessions.snapshot.requests.get(requestId);
    if (item) await this.sessions.approve(item, { decision: "deny", ...(reason !== "" && { reason }) });
  }
}

/** A file that the user clicked on: a uri, or a path as the model wrote it, with a line or without. */
async function openFile(target: string, folder: string | undefined): Promise<void> {
  const [, name = target, line] = /^(.*?)(?:(?::|#L)(\d+))?(?:[:-].*)?$/s.exec(target.replace(/^file:\/\//, "")) ?? [];
  const base = folder?.startsWith("file:") === true ? vscode.Uri.parse(folder).fsPath : "";
  const uri = target.startsWith("file:") ? vscode.Uri.parse(target) : vscode.Uri.file(isAbsolute(name) ? name : join(base, name));
  const at = new vscode.Position(line === undefined ? 0 : Math.max(0, Number(line) - 1), 0);
  try {
    await vscode.window.showTextDocument(uri, { preview: true, ...(line !== undefined && { selection: new vscode.Range(at, at) }) });
  } catch {
    void vscode.window.setStatusBarMessage(`agent-ls: cannot open ${name}`, 4000);
  }
}
