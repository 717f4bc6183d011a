// Maps messages of the chat page to requests for the session, or to actions of the page's host (editor or browser).
import { type InputPart, type QueueChange, type Verdict, effectOf } from "../connection/protocol";
import type { Sessions } from "../sessions/session";
import type { Attachment, FromView, Home, HostCommand, Offer, ToView } from "../webview/messages";
import type { Catalog } from "./catalog";
import type { Action } from "../commands/failure_actions";
import { makeTextChange } from "./queue_changes";
import { type PathContext, restorePrompt } from "./message_display";
import { type ClientCommandName, isMode, parseSlash } from "./slash";

export type Message = Exclude<FromView, { type: "ready" | "earlier" | "later" | "end" | "drawn" | "draft" | "keyboard" }>;
type Submit = Extract<FromView, { type: "submit" }>;
type Allow = Extract<FromView, { type: "allow" }>;

/** The actions after a failure that the page's host performs. */
export type HostAction = Exclude<Action, "retry" | "continue" | "chooseModel" | "sendAgain">;

/** What the page's host, the editor or the browser, does for it. */
export interface PageHost {
  runCommand(name: HostCommand): Promise<void>;
  act(action: HostAction): Promise<void>;
  findOffers(trigger: "@" | "/", query: string): Promise<Offer[]>;
  /** Returns the attachment for a chosen completion. */
  choose(token: string): Promise<Attachment | undefined>;
  collectHome(): Promise<Home>;
  openSession(id: string): Promise<void>;
  shareActiveFile(isShared: boolean): void;
  insert(text: string): Promise<void>;
  /** Asks the user for one line of text; "" if the user closed the question. */
  askLine(title: string): Promise<string>;
  judge(hunkIds: readonly string[], verdict: Verdict): Promise<unknown>;
  compare(hunkId: string): Promise<void>;
  openFile(target: string): Promise<void>;
  openLink(url: string): Promise<void>;
  showTerminal(callId: string): void;
  kill(terminalId: string): Promise<void>;
  showServers(): Promise<void>;
  openMemory(): Promise<void>;
  /** Rolls back to before a message. Returns the message's text if it was removed from the conversation. */
  rollBack(turnId: string): Promise<string | undefined>;
}

export class Inbox {
  constructor(
    private readonly sessions: Sessions,
    private readonly catalog: Catalog,
    private readonly host: PageHost,
    private readonly names: PathContext,
  ) {}

  /** Handles a message; returns the answer for the page, if any. */
  async take(message: Message): Promise<ToView | undefined> {
    const { sessions, host } = this;
    switch (message.type) {
      case "submit":
        return this.submit(message);
      case "offer":
        return { type: "offers", request: message.request, offers: await host.findOffers(message.trigger, message.query) };
      case "choose": {
        const attachment = await host.choose(message.token);
        return attachment && { type: "attach", attachment };
      }
      case "models":
        return { type: "models", models: await this.catalog.models(message.look) };
      case "home":
        return { type: "home", home: await host.collectHome() };
      case "openSession":
        await host.openSession(message.id);
        break;
      case "share":
        host.shareActiveFile(message.isShared);
        break;
      case "insert":
        await host.insert(message.text);
        break;
      case "stop":
        await sessions.interrupt();
        break;
      case "stopAgent":
        await sessions.interrupt(message.agentId);
        break;
      case "steerAgent":
        await sessions.steerAgent(message.agentId, await host.askLine(`Message to ${message.agentId}`));
        break;
      case "act":
        return this.act(message.action);
      case "unsteer":
        await sessions.unsteer(message.steerId);
        break;
      case "editQueued":
        await this.queue(makeTextChange(message.queuedId, message.text));
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
        await sessions.requestForCurrent("agent/answer", (change) => ({ ...change, questionId: message.questionId, answers: message.answers, ...(message.declined && { declined: true }) }));
        break;
      case "rollBack":
        return this.rollBack(message.turnId);
      case "review":
        await host.judge(message.hunkIds, message.verdict);
        break;
      case "compare":
        await host.compare(message.hunkId);
        break;
      case "openFile":
        await host.openFile(message.target);
        break;
      case "openLink":
        await host.openLink(message.url);
        break;
      case "terminal":
        host.showTerminal(message.callId);
        break;
      case "kill":
        await host.kill(message.terminalId);
        break;
      case "configure":
        await sessions.configure(message.configuration);
        break;
      case "command":
        await host.runCommand(message.command);
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

  /** Runs an action that was offered after a failure. */
  private async act(action: Action): Promise<ToView | undefined> {
    if (action === "retry") await this.sessions.retry();
    else if (action === "continue") await this.sessions.submit([{ type: "text", text: "Continue." }]);
    else if (action === "chooseModel") return { type: "pickModel" };
    else if (action !== "sendAgain") await this.host.act(action);
    return undefined;
  }

  /** Runs a slash command of this client. */
  private async run(name: ClientCommandName, words: string): Promise<ToView | undefined> {
    const { sessions, host } = this;
    switch (name) {
      case "new":
        await host.runCommand("newSession");
        break;
      case "sessions":
        await host.runCommand("sessions");
        break;
      case "stop":
        await sessions.interrupt();
        break;
      case "mcp":
        await host.showServers();
        break;
      case "keep":
        await host.runCommand("keepAll");
        break;
      case "undo":
        await host.runCommand("undoAll");
        break;
      case "memory":
        await host.openMemory();
        break;
      case "compact":
        await sessions.requestForCurrent("agent/compact", (change) => ({ ...change, ...(words !== "" && { instructions: words }) }));
        break;
      case "model":
        if (words === "") return { type: "pickModel" };
        await sessions.configure({ model: words });
        break;
      case "mode":
        if (isMode(words)) await sessions.configure({ mode: words });
        else sessions.showNotice("warn", "The mode was not changed: there is no mode with this name.", "Write /mode followed by plan, ask, edits or full.");
        break;
    }
    return undefined;
  }

  /** Rolls back to before a message. The text of the message returns to the prompt. */
  private async rollBack(turnId: string): Promise<ToView | undefined> {
    const said = await this.host.rollBack(turnId);
    return said === undefined || said === "" ? undefined : { type: "unsent", ...restorePrompt(said, this.names) };
  }

  private async queue(change: QueueChange): Promise<void> {
    await this.sessions.requestForCurrent("agent/queue", (keys) => ({ ...keys, ...change }));
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
