// Maps messages of the chat page to requests of the session and commands of the editor.
import * as vscode from "vscode";
import { type InputPart, type QueueChange, effectOf } from "../protocol";
import type { ReviewActions } from "../review/actions";
import type { Sessions } from "../session";
import type { Terminals } from "../terminals/terminals";
import type { FromView, HostCommand, ToView } from "../webview/messages";
import type { Catalog } from "./catalog";
import type { HomePage } from "./home";
import type { Action } from "../trouble";
import { compact, rollBack } from "../sessions/rollback";
import { showServers } from "../sessions/servers";
import { insertAtCursor } from "./insert";
import { openFile, openLink } from "./links";
import { openMemory } from "./memory";
import type { Offers } from "./offers";
import { otherWords } from "./queue_changes";
import { type ClientCommandName, isMode, parseSlash } from "./slash";

export type Message = Exclude<FromView, { type: "ready" | "earlier" | "later" | "end" | "drawn" | "draft" | "keyboard" }>;
type Submit = Extract<FromView, { type: "submit" }>;
type Allow = Extract<FromView, { type: "allow" }>;

const COMMANDS: Record<HostCommand, string> = {
  newSession: "agentLs.newSession",
  sessions: "agentLs.sessions",
  demo: "agentLs.demo",
  configure: "agentLs.configure",
  nextHunk: "agentLs.nextHunk",
  previousHunk: "agentLs.previousHunk",
  reviewAll: "agentLs.compareAll",
  keepAll: "agentLs.keepAll",
  undoAll: "agentLs.undoAll",
  compact: "agentLs.compact",
  takeOver: "agentLs.takeOver",
  plan: "agentLs.plan",
};

const ACTS: Readonly<Record<Exclude<Action, "retry" | "continue" | "chooseModel" | "sendAgain">, readonly [string, ...unknown[]]>> = {
  setKey: ["agentLs.setApiKey"],
  manageTrust: ["workbench.trust.manage"],
  choosePython: ["workbench.action.openSettings", "agentLs.python"],
  showLog: ["agentLs.showLog"],
};

export class Inbox {
  constructor(
    private readonly sessions: Sessions,
    private readonly review: ReviewActions,
    private readonly terminals: Terminals,
    private readonly catalog: Catalog,
    private readonly offers: Offers,
    private readonly home: HomePage,
    private readonly share: (isShared: boolean) => void,
  ) {}

  /** Handles a message; returns the answer for the page, if any. */
  async take(message: Message): Promise<ToView | undefined> {
    const { sessions } = this;
    switch (message.type) {
      case "submit":
        return this.submit(message);
      case "offer":
        return { type: "offers", request: message.request, offers: await this.offers.offers(message.trigger, message.query) };
      case "choose": {
        const attachment = await this.offers.choose(message.token);
        return attachment && { type: "attach", attachment };
      }
      case "models":
        return { type: "models", models: await this.catalog.models(message.look) };
      case "home":
        return { type: "home", home: await this.home.look() };
      case "openSession":
        await this.home.open(message.id);
        break;
      case "share":
        this.share(message.isShared);
        break;
      case "insert":
        await insertAtCursor(message.text);
        break;
      case "stop":
        await sessions.interrupt();
        break;
      case "act":
        return this.act(message.action);
      case "unsteer":
        await sessions.unsteer(message.steerId);
        break;
      case "editQueued":
        await this.queue(otherWords(message.queuedId, message.text));
        break;
      case "moveQueued":
        await this.queue({ move: { queuedId: message.queuedId, ...(message.before !== null && { before: message.before }) } });
        break;
      case "removeQueued":
        await this.queue({ remove: message.queuedId });
        break;
      case "startQueued":
        await this.queue({ startNow: message.queuedId });
        break;
      case "allow":
        await this.allow(message);
        break;
      case "deny":
        await this.deny(message.requestId, message.reason);
        break;
      case "answer":
        await sessions.ofCurrent("agent/answer", (change) => ({ ...change, questionId: message.questionId, answers: message.answers, ...(message.declined && { declined: true }) }));
        break;
      case "rollBack":
        return this.rollBack(message.turnId);
      case "review":
        await this.review.judge(message.hunkIds, message.verdict);
        break;
      case "compare":
        await vscode.commands.executeCommand("agentLs.compareHunk", message.hunkId);
        break;
      case "openFile":
        await openFile(message.target, sessions.snapshot.session.workspaceFolder);
        break;
      case "openLink":
        await openLink(message.url);
        break;
      case "terminal":
        this.terminals.show(message.callId);
        break;
      case "kill":
        await this.terminals.kill(message.terminalId);
        break;
      case "configure":
        await sessions.configure(message.configuration);
        break;
      case "command":
        await vscode.commands.executeCommand(COMMANDS[message.command]);
        break;
    }
    return undefined;
  }

  private async submit({ text, attachments, how }: Submit): Promise<ToView | undefined> {
    const slash = text.startsWith("/") ? parseSlash(text, await this.catalog.commands()) : { kind: "text" as const };
    if (slash.kind === "client") return this.run(slash.name, slash.words);
    const input: InputPart[] = attachments.map(({ part }) => part);
    if (slash.kind === "server") input.push({ type: "command", name: slash.name, ...(slash.words !== "" && { arguments: slash.words }) });
    else if (text.trim() !== "") input.push({ type: "text", text });
    if (input.length === 0 || (await this.sessions.submit(input, how))) return undefined;
    return { type: "unsent", text, attachments };
  }

  /** Runs an action that a failure offers. */
  private async act(action: Action): Promise<ToView | undefined> {
    if (action === "retry") await this.sessions.retry();
    else if (action === "continue") await this.sessions.submit([{ type: "text", text: "Continue." }]);
    else if (action === "chooseModel") return { type: "pickModel" };
    else if (action !== "sendAgain") await vscode.commands.executeCommand(...ACTS[action]);
    return undefined;
  }

  /** Runs a slash command of this editor. */
  private async run(name: ClientCommandName, words: string): Promise<ToView | undefined> {
    const { sessions } = this;
    switch (name) {
      case "new":
        await vscode.commands.executeCommand(COMMANDS.newSession);
        break;
      case "sessions":
        await vscode.commands.executeCommand(COMMANDS.sessions);
        break;
      case "stop":
        await sessions.interrupt();
        break;
      case "mcp":
        await showServers(sessions);
        break;
      case "keep":
        await vscode.commands.executeCommand(COMMANDS.keepAll);
        break;
      case "undo":
        await vscode.commands.executeCommand(COMMANDS.undoAll);
        break;
      case "memory":
        await openMemory();
        break;
      case "compact":
        await compact(sessions, words);
        break;
      case "model":
        if (words === "") return { type: "pickModel" };
        await sessions.configure({ model: words });
        break;
      case "mode":
        if (isMode(words)) await sessions.configure({ mode: words });
        else sessions.say("warn", "There is no such mode.", "Write /mode with plan, ask, edits or full.");
        break;
    }
    return undefined;
  }

  /** Rolls back to before a message, whose text returns to the prompt. */
  private async rollBack(turnId: string): Promise<ToView | undefined> {
    const text = await rollBack(this.sessions, turnId);
    return text === undefined || text === "" ? undefined : { type: "unsent", text, attachments: [] };
  }

  private async queue(change: QueueChange): Promise<void> {
    await this.sessions.ofCurrent("agent/queue", (keys) => ({ ...keys, ...change }));
  }

  private async allow({ requestId, ruleId, command }: Allow): Promise<void> {
    const item = this.sessions.snapshot.requests.get(requestId);
    const rule = item?.request.rules.find((each) => each.id === ruleId);
    const changed = command !== undefined && item !== undefined && command !== effectOf(item.request).command;
    if (!item) return;
    await this.sessions.approve(item, {
      decision: "allow",
      ...(rule && { scope: rule.scope, ruleId: rule.id }),
      ...(changed && { replacement: { command } }),
    });
  }

  private async deny(requestId: string, reason: string): Promise<void> {
    const item = this.sessions.snapshot.requests.get(requestId);
    if (item) await this.sessions.approve(item, { decision: "deny", ...(reason !== "" && { reason }) });
  }
}
