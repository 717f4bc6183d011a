// The user's requests for the current session. The subclass Sessions (session.ts) sends them.
import { prependHistory } from "../snapshot/history";
import type { ApprovalItem, Level, Snapshot } from "../snapshot/items";
import type { ApproveAnswer, BroughtFile, InputPart, Method, Requests, Review, ReviewResult, SessionInfo } from "../connection/protocol";
import type { SubmitMode, EditorContext } from "./interfaces";

const HISTORY_PAGE = 200; // items

export abstract class SessionVerbs {
  constructor(protected readonly around: EditorContext) {}

  abstract get snapshot(): Snapshot;
  abstract get currentId(): string | undefined;
  abstract showNotice(level: Level, text: string, hint?: string): void;
  abstract submit(input: readonly InputPart[], how?: SubmitMode): Promise<boolean>;
  /** Sends a request for the current session. Undefined if there is no session, or if it failed and showed an error. */
  abstract requestForCurrent<M extends Method>(
    method: M,
    params: (change: { sessionId: string; clientKey: string }) => Requests[M]["params"],
  ): Promise<Requests[M]["result"] | undefined>;
  /** Sends a request. Shows an error and returns undefined if it fails. */
  protected abstract ask<M extends Method>(method: M, params: Requests[M]["params"]): Promise<Requests[M]["result"] | undefined>;

  /** Sends the last message again after a failure. */
  async retry(): Promise<boolean> {
    const last = this.snapshot.items.findLast((item) => item.kind === "user");
    if (last?.kind !== "user") return false;
    return this.submit(last.parts ?? [{ type: "text", text: last.text }]);
  }

  async unsteer(steerId?: string): Promise<void> {
    const waiting = [...this.snapshot.steers.values()].filter((item) => item.status === "waiting");
    const id = steerId ?? waiting.at(-1)?.id;
    if (id === undefined) this.showNotice("info", "No steering message is waiting.");
    else await this.requestForCurrent("agent/unsteer", (change) => ({ ...change, steerId: id }));
  }

  /** Stops the turn, or only one subagent. The session stays open. */
  async interrupt(agentId = ""): Promise<void> {
    await this.requestForCurrent("agent/interrupt", (change) => ({ ...change, ...(agentId !== "" && { agentId }) }));
  }

  /** Sends a message to a running subagent. An empty text is not sent. */
  async steerAgent(agentId: string, text: string): Promise<void> {
    if (text.trim() !== "") await this.requestForCurrent("agent/steer", (change) => ({ ...change, agentId, input: [{ type: "text", text }] }));
  }

  /** Stops the turn and closes the session. */
  async abort(): Promise<void> {
    await this.requestForCurrent("agent/abort", (change) => change);
  }

  /** Sends the plan as edited by the user; the agent carries it out in `mode`. Returns false if it failed. */
  async acceptPlan(text: string, mode: "ask" | "edits"): Promise<boolean> {
    const answer = await this.requestForCurrent("agent/acceptPlan", (change) => ({ ...change, text, mode }));
    if (answer) this.snapshot.session = { ...this.snapshot.session, ...answer.session };
    return answer !== undefined;
  }

  /** Answers an approval. The first answer of all clients wins and arrives as an event. */
  async approve(item: ApprovalItem, answer: ApproveAnswer): Promise<void> {
    await this.requestForCurrent("agent/approve", (change) => ({ ...change, requestId: item.id, scope: "once", ...answer }));
  }

  /** Sends a decision about hunks. The changed hunks arrive as hunk_state events, for all views. */
  async review(review: Review): Promise<ReviewResult | undefined> {
    const answer = await this.ask("agent/review", { clientKey: this.around.newKey(), ...review });
    for (const refused of answer?.refused ?? []) this.showNotice("warn", refused.reason || "One change could not be kept or undone.");
    return answer;
  }

  /** Lists the sessions of this folder, newest first. */
  async listSessions(): Promise<readonly SessionInfo[] | undefined> {
    const folder = this.around.folder();
    return (await this.ask("agent/sessions", { ...(folder !== undefined && { workspaceFolder: folder }) }))?.sessions;
  }

  /** Lists the sessions of all folders that any process has open, newest first. */
  async listRunningSessions(): Promise<readonly SessionInfo[] | undefined> {
    return (await this.ask("agent/sessions", { running: true }))?.sessions;
  }

  /** Applies the changes of the session's git worktree to its folder. Undefined if refused; the chat shows the reason. */
  async bringChanges(): Promise<readonly BroughtFile[] | undefined> {
    return (await this.requestForCurrent("agent/bringChanges", (change) => change))?.files;
  }

  /** Fetches earlier items. */
  async fetchEarlier(): Promise<void> {
    const { snapshot, currentId: current } = this;
    if (current === undefined || !snapshot.more) return;
    const answer = await this.ask("agent/history", { sessionId: current, before: snapshot.oldestSeq, limit: HISTORY_PAGE });
    if (answer) prependHistory(snapshot, answer);
  }
}
