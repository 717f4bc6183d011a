// The sessions of this window: subscribes, feeds their events to snapshots, and asks for what the user wants.
// It draws nothing and knows no editor: who shows a session listens.
import type { ApprovalItem, Level, Snapshot } from "./items";
import { type AgentEvent, type Configuration, type InputPart, type Problem, type SessionInfo, type SubscribeResult, isMethodNotFound, problemOf } from "./protocol";
import type { Draft } from "./protocol_chat";
import type { ApproveAnswer, Method, Requests, Review, ReviewResult } from "./requests";
import type { Ask, Change, Connection, Surroundings } from "./seams";
import { fromStored, prepend } from "./history";
import { isReadOnly, isRefused } from "./owners";
import { addNotice, apply, newSnapshot, subscribed } from "./snapshot";

interface Live {
  snapshot: Snapshot;
  subscribing: boolean;
  early: AgentEvent[]; // those that came before the answer to agent/subscribe
  gaps: number; // subscriptions in a row that led to a gap again
}

const MAX_EVENTS = 2_000; // of a session that is opened; a longer one comes as its newest items, the others when asked for
const HISTORY_PAGE = 200; // items
const MAX_GAPS = 3; // a server that never closes a gap must not be asked for ever
const APPLIES = { now: "now", nextCall: "the next model call", nextTurn: "the next message" } as const;

export class Sessions {
  private readonly live = new Map<string, Live>();
  private readonly listeners = new Set<(change: Change) => void>();
  /** What is shown, and said, before there is a session. */
  private readonly nowhere = newSnapshot();
  private current: string | undefined;
  private making: { readonly wanted: string; readonly done: Promise<boolean> } | undefined;
  /** Chosen before there is a session: what the next one begins with. */
  private chosen: Configuration = {};

  constructor(
    private readonly connection: Connection,
    private readonly around: Surroundings,
  ) {}

  get currentId(): string | undefined {
    return this.current;
  }

  get snapshot(): Snapshot {
    return (this.current === undefined ? undefined : this.live.get(this.current)?.snapshot) ?? this.nowhere;
  }

  listen(listener: (change: Change) => void): { dispose(): void } {
    this.listeners.add(listener);
    return { dispose: () => void this.listeners.delete(listener) };
  }

  /** Says something in the transcript. */
  say(level: Level, text: string, hint?: string): void {
    addNotice(this.snapshot, level, text, hint);
    this.tell({ ...(this.current !== undefined && { sessionId: this.current }) });
  }

  /** What was said before there was a session holds no more. */
  forgetNotices(): void {
    this.nowhere.items = [];
    this.tell({ switched: true });
  }

  /** A message of the server. */
  onEvent(event: AgentEvent): void {
    const live = this.live.get(event.sessionId);
    if (!live) return;
    if (live.subscribing) live.early.push(event);
    else this.take(event.sessionId, live, event);
  }

  /** The server has ended. `problem`: not as it should. */
  onExit(problem?: Problem): void {
    for (const live of this.live.values()) {
      if (live.snapshot.state !== "CLOSED") live.snapshot.state = "IDLE";
      Object.assign(live, { gaps: 0, early: [], subscribing: false });
    }
    this.tell({ forgotten: true });
    if (problem) this.say("error", problem.message, problem.hint);
  }

  /** Opens a session, live or stored, and shows it. */
  async open(id: string): Promise<boolean> {
    try {
      await this.subscribe(id);
    } catch (error) {
      this.live.delete(id);
      this.report(error);
      return false;
    }
    const before = this.current;
    this.current = id;
    this.tell({ sessionId: id, switched: true });
    if (before !== undefined && before !== id) await this.leave(before);
    return true;
  }

  /** A session that is no more. */
  forget(id: string): void {
    this.live.delete(id);
    if (this.current === id) this.current = undefined;
    // What waited in it waits no longer.
    this.tell({ sessionId: id, files: [], switched: true });
  }

  /** A new session, shown. One that is asked for while the same is being made is that one: it may have a message already. */
  async create(configuration: Configuration = {}, folder = this.around.folder()): Promise<boolean> {
    const wanted = JSON.stringify([configuration, folder]);
    if (this.making?.wanted === wanted) return this.making.done;
    const making = { wanted, done: this.make(configuration, folder) };
    this.making = making;
    return making.done.finally(() => { if (this.making === making) this.making = undefined; });
  }

  private async make(configuration: Configuration, folder: string | undefined): Promise<boolean> {
    if (folder === undefined) {
      this.say("warn", "No folder is open.", "The agent works in a folder: open one first.");
      return false;
    }
    const wanted = { ...this.around.configuration(), ...configuration };
    const params = { clientKey: this.around.newKey(), workspaceFolder: folder, ...wanted, ...this.chosen };
    const made = await this.ask("agent/newSession", params);
    if (!made || !(await this.open(made.session.id))) return false;
    const { provider, model } = this.chosen;
    this.chosen = {};
    if (provider !== undefined && model !== undefined) await this.offered("agent/configure", { sessionId: made.session.id, clientKey: this.around.newKey(), provider, model, remember: true });
    return true;
  }

  /** Subscribes anew, after the server went away. */
  async resume(): Promise<boolean> {
    return this.current !== undefined && this.open(this.current);
  }

  /** Sends a message: starts a turn, or does as `how` says when one runs. False: it did not arrive. */
  async submit(input: readonly InputPart[], how: Ask = "send"): Promise<boolean> {
    if (isRefused(this, "agent/submit", "sent")) return false;
    const sessionId = await this.ready();
    if (sessionId === undefined) return false;
    const change = { sessionId, clientKey: this.around.newKey() };
    if (how === "queue") return (await this.ask("agent/followUp", { ...change, input })) !== undefined;
    if (how === "stopFirst") return (await this.ask("agent/interrupt", { ...change, thenSubmit: input })) !== undefined;
    return (await this.ask("agent/submit", { ...change, input, whenBusy: "steer" })) !== undefined;
  }

  async unsteer(steerId?: string): Promise<void> {
    const waiting = [...this.snapshot.steers.values()].filter((item) => item.status === "waiting");
    const id = steerId ?? waiting.at(-1)?.id;
    if (id === undefined) this.say("info", "No steering message is waiting.");
    else await this.ofCurrent("agent/unsteer", (change) => ({ ...change, steerId: id }));
  }

  /** Ends the turn; the session lives. */
  async interrupt(): Promise<void> {
    await this.ofCurrent("agent/interrupt", (change) => change);
  }

  /** Ends the session. */
  async abort(): Promise<void> {
    await this.ofCurrent("agent/abort", (change) => change);
  }

  async configure(configuration: Configuration): Promise<void> {
    if (this.current === undefined) {
      this.chosen = { ...this.chosen, ...configuration };
      this.nowhere.session = { ...this.around.configuration(), ...this.chosen };
      this.tell({});
      return;
    }
    const answer = await this.ofCurrent("agent/configure", (change) => ({ ...change, ...configuration, ...(configuration.model !== undefined && { remember: true }) }));
    if (!answer) return;
    this.snapshot.session = { ...this.snapshot.session, ...answer.session };
    const what = Object.entries(configuration).map(([name, value]) => `${name} is ${String(value)}`).join(", ");
    this.say("info", `From ${APPLIES[answer.appliesFrom]} on, ${what}.`);
  }

  /** Answers what was asked; the first answer of all clients wins, and comes as an event. */
  async approve(item: ApprovalItem, answer: ApproveAnswer): Promise<void> {
    await this.ofCurrent("agent/approve", (change) => ({ ...change, requestId: item.id, scope: "once", ...answer }));
  }

  /** A verdict on hunks. What changed comes as hunk_state events, to all who look at them. */
  async review(review: Review): Promise<ReviewResult | undefined> {
    const answer = await this.ask("agent/review", { clientKey: this.around.newKey(), ...review });
    for (const refused of answer?.refused ?? []) this.say("warn", refused.reason || "A change was left as it is.");
    return answer;
  }

  /** Sessions of this folder, newest first. */
  async list(): Promise<readonly SessionInfo[] | undefined> {
    const folder = this.around.folder();
    return (await this.ask("agent/sessions", { ...(folder !== undefined && { workspaceFolder: folder }) }))?.sessions;
  }

  /** Fetches the items before those that are here. */
  async earlier(): Promise<void> {
    const { snapshot, current } = this;
    if (current === undefined || !snapshot.more) return;
    const answer = await this.ask("agent/history", { sessionId: current, before: snapshot.oldestSeq, limit: HISTORY_PAGE });
    if (answer) prepend(snapshot, answer);
  }

  /** The result; undefined when the server is too old for it or fails: for what is offered, not needed. */
  async offered<M extends Method>(method: M, params: Requests[M]["params"]): Promise<Requests[M]["result"] | undefined> {
    try {
      return await this.connection.request(method, params);
    } catch (error) {
      if (!isMethodNotFound(error)) this.around.log(`${method}: ${problemOf(error).message}`);
      return undefined;
    }
  }

  /** Remembers what the prompt of a session holds; without an id, of the one that is still to come. */
  keepDraft(draft: Draft, id: string | undefined): void {
    const snapshot = id === undefined ? this.nowhere : this.live.get(id)?.snapshot;
    if (snapshot && isReadOnly(snapshot)) return;
    if (snapshot) snapshot.draft = draft;
    if (id !== undefined) this.connection.notify("agent/draft", { sessionId: id, ...draft });
  }

  private tell(change: Change): void {
    for (const listener of this.listeners) listener(change);
  }

  private report(error: unknown): void {
    const problem = problemOf(error);
    this.say("error", problem.message, problem.hint);
  }

  /** The result, or undefined after the problem was said. */
  private async ask<M extends Method>(method: M, params: Requests[M]["params"]): Promise<Requests[M]["result"] | undefined> {
    try {
      return await this.connection.request(method, params);
    } catch (error) {
      this.report(error);
      return undefined;
    }
  }

  /** A request about the session that is shown: undefined when there is none, or after the problem was said. */
  async ofCurrent<M extends Method>(
    method: M,
    params: (change: { sessionId: string; clientKey: string }) => Requests[M]["params"],
  ): Promise<Requests[M]["result"] | undefined> {
    if (this.current === undefined) {
      this.say("warn", "There is no session yet.", "Write a message to start one.");
      return undefined;
    }
    if (isRefused(this, method)) return undefined;
    const sessionId = await this.ready();
    return sessionId === undefined ? undefined : this.ask(method, params({ sessionId, clientKey: this.around.newKey() }));
  }

  /** The session to speak to: made when there is none, told of again to a server that is new. */
  private async ready(): Promise<string | undefined> {
    // What is said while one is being made is meant for it.
    await this.making?.done;
    if (this.current === undefined) await this.create();
    else if (!this.connection.isRunning && !(await this.resume())) return undefined;
    return this.current;
  }

  private async leave(id: string): Promise<void> {
    this.live.delete(id);
    await this.ask("agent/unsubscribe", { sessionId: id });
  }

  private async subscribe(id: string): Promise<void> {
    const live: Live = this.live.get(id) ?? { snapshot: newSnapshot(), subscribing: false, early: [], gaps: 0 };
    this.live.set(id, live);
    live.subscribing = true;
    let result: SubscribeResult;
    try {
      result = await this.connection.request("agent/subscribe", { sessionId: id, since: live.snapshot.lastSeq, maxEvents: MAX_EVENTS });
    } catch (error) {
      Object.assign(live, { subscribing: false, early: [] });
      throw error;
    }
    if (result.snapshot) live.snapshot = fromStored(result.snapshot, result);
    if (subscribed(live.snapshot, result) === "gap" && live.gaps < MAX_GAPS) {
      live.gaps += 1;
      live.snapshot = newSnapshot();
      return this.subscribe(id);
    }
    live.subscribing = false;
    this.tell({ sessionId: id, files: result.pending.hunks, switched: true });
    for (const event of live.early.splice(0)) this.onEvent(event);
  }

  private take(id: string, live: Live, event: AgentEvent): void {
    const outcome = apply(live.snapshot, event);
    if (outcome === "applied") {
      live.gaps = 0;
      this.tell({ sessionId: id, event });
    } else if (outcome === "gap" && live.gaps < MAX_GAPS) {
      live.gaps += 1;
      this.subscribe(id).catch((error: unknown) => { this.report(error); });
    }
  }
}
