// The sessions of this window: subscribes to them, applies their events to snapshots, and sends the user's requests.
// Does not draw and does not depend on the editor: views register a listener.
import type { Level, Snapshot } from "../snapshot/items";
import { type AgentEvent, type Configuration, type NewSessionChoice, type DraftInfo, type InputPart, type Method, type Problem, type Requests, type SubscribeResult, isMethodNotFound, problemOf } from "../connection/protocol";
import type { SubmitMode, Change, Connection, EditorContext } from "./interfaces";
import { restoreSnapshot } from "../snapshot/history";
import { isReadOnly, refuseIfReadOnly } from "./owners";
import { addNotice, applyEvent, setMessageParts, newSnapshot, applySubscription } from "../snapshot/snapshot";
import { SessionVerbs } from "./session_verbs";
import { type Action, actionsOf, hintForPeople } from "../commands/failure_actions";

interface Live {
  snapshot: Snapshot;
  subscribing: boolean;
  early: AgentEvent[]; // events before the answer to agent/subscribe
  gaps: number; // gaps in a row; reset by an event that could be applied
}

// If more events are missing, the server answers a subscription with a snapshot of the session's newest items.
const MAX_EVENTS = 2_000;
const MAX_GAPS = 3; // limit of repeated subscriptions, if a gap never closes
const APPLIES = { now: "now", nextCall: "the next model call", nextTurn: "the next message" } as const;

export class Sessions extends SessionVerbs {
  private readonly live = new Map<string, Live>();
  private readonly listeners = new Set<(change: Change) => void>();
  private readonly empty = newSnapshot();
  private current: string | undefined;
  private making: { readonly wanted: string; readonly done: Promise<boolean> } | undefined;
  /** Parts of messages sent from here whose event has not arrived yet, by client key. */
  private readonly sent = new Map<string, readonly InputPart[]>();
  /** Settings chosen before there is a session, for the next one. */
  private nextConfiguration: Configuration = {};

  constructor(
    private readonly connection: Connection,
    around: EditorContext,
  ) {
    super(around);
  }

  get currentId(): string | undefined { return this.current; }

  get snapshot(): Snapshot {
    return (this.current === undefined ? undefined : this.live.get(this.current)?.snapshot) ?? this.noSession;
  }

  /** The snapshot to display while there is no session, with the settings of the next one. */
  private get noSession(): Snapshot { return Object.assign(this.empty, { session: { ...this.around.defaults?.(), ...this.around.configuration(), ...this.nextConfiguration } }); }

  listen(listener: (change: Change) => void): { dispose(): void } {
    this.listeners.add(listener);
    return { dispose: () => void this.listeners.delete(listener) };
  }

  /** Adds a notice to the transcript, with actions for the user. */
  showNotice(level: Level, text: string, hint?: string, actions: readonly Action[] = []): void {
    addNotice(this.snapshot, level, text, hint, actions);
    this.notifyListeners({ ...(this.current !== undefined && { sessionId: this.current }) });
  }

  /** Shows the step that must end before the agent can begin; undefined removes it. */
  showProgress(words: string | undefined): void {
    const { snapshot } = this;
    if (words === undefined) delete snapshot.progress;
    else snapshot.progress = words;
    this.notifyListeners({ ...(this.current !== undefined && { sessionId: this.current }) });
  }

  /** Removes the notices that were added while there was no session. */
  forgetNotices(): void {
    this.noSession.items = [];
    this.noSession.troubles = [];
    this.notifyListeners({ switched: true });
  }

  /** Draws the settings of the next session again, after the user has changed them. */
  onSettings(): void { if (this.current === undefined) this.notifyListeners({}); }

  /** Handles an event of the server. */
  onEvent(event: AgentEvent): void {
    const live = this.live.get(event.sessionId);
    if (!live) return;
    if (live.subscribing) live.early.push(event);
    else this.take(event.sessionId, live, event);
  }

  /** Handles the end of the server. `problem` is given if the end was unexpected. */
  onExit(problem?: Problem): void {
    for (const live of this.live.values()) {
      if (live.snapshot.state !== "CLOSED") live.snapshot.state = "IDLE";
      Object.assign(live, { gaps: 0, early: [], subscribing: false });
    }
    this.notifyListeners({ forgotten: true });
    if (problem) this.showNotice("error", problem.message, problem.hint, problem.kind === undefined ? [] : actionsOf(problem.kind, false));
  }

  /** Opens a live or stored session and displays it. */
  async open(id: string): Promise<boolean> {
    try {
      await this.subscribe(id);
    } catch (error) {
      this.live.delete(id);
      this.report(error);
      return false;
    }
    const before = this.current;
    const { sending } = this.snapshot;
    this.current = id;
    // The message that created this session is still being sent: display it here.
    if (sending && before === undefined) this.snapshot.sending = sending;
    if (before === undefined) delete this.noSession.sending;
    this.notifyListeners({ sessionId: id, switched: true });
    if (before !== undefined && before !== id) await this.leave(before);
    return true;
  }

  /** Removes a deleted session. */
  forget(id: string): void {
    this.live.delete(id);
    if (this.current === id) this.current = undefined;
    // A deleted session no longer has open hunks.
    this.notifyListeners({ sessionId: id, files: [], switched: true });
  }

  /**
   * Creates and displays a session. If a session with the same settings is already being created, waits for that one,
   * because a message for it may already be waiting.
   */
  async create(configuration: NewSessionChoice = {}, folder = this.around.folder()): Promise<boolean> {
    const wanted = JSON.stringify([configuration, folder]);
    if (this.making?.wanted === wanted) return this.making.done;
    const making = { wanted, done: this.createSession(configuration, folder) };
    this.making = making;
    return making.done.finally(() => { if (this.making === making) this.making = undefined; });
  }

  private async createSession(configuration: NewSessionChoice, folder: string | undefined): Promise<boolean> {
    if (folder === undefined) {
      this.showNotice("warn", "No folder is open.", "Open a folder first, because the agent works in a folder.");
      return false;
    }
    const wanted = { ...this.around.configuration(), ...configuration };
    const params = { clientKey: this.around.newKey(), workspaceFolder: folder, ...wanted, ...this.nextConfiguration };
    const made = await this.ask("agent/newSession", params);
    if (!made || !(await this.open(made.session.id))) return false;
    const { provider, model } = this.nextConfiguration;
    this.nextConfiguration = {};
    if (provider !== undefined && model !== undefined) await this.requestIfSupported("agent/configure", { sessionId: made.session.id, clientKey: this.around.newKey(), provider, model, remember: true });
    return true;
  }

  /** Subscribes again after the server has ended. */
  async resume(): Promise<boolean> {
    return this.current !== undefined && this.open(this.current);
  }

  /** Sends a message, which starts a turn, or acts on a running turn by `how`. Returns false if it was not sent. */
  async submit(input: readonly InputPart[], how: SubmitMode = "send"): Promise<boolean> {
    if (refuseIfReadOnly(this, "agent/submit", "sent")) return false;
    this.snapshot.sending = input;
    this.notifyListeners({ ...(this.current !== undefined && { sessionId: this.current }) });
    try {
      return await this.deliver(input, how);
    } finally {
      delete this.snapshot.sending;
      delete this.noSession.sending;
      this.notifyListeners({ ...(this.current !== undefined && { sessionId: this.current }) });
    }
  }

  private async deliver(input: readonly InputPart[], how: SubmitMode): Promise<boolean> {
    const sessionId = await this.ensureSession();
    if (sessionId === undefined) return false;
    const change = { sessionId, clientKey: this.around.newKey() };
    this.sent.set(change.clientKey, input);
    if (how === "queue") return (await this.ask("agent/followUp", { ...change, input })) !== undefined;
    if (how === "stopFirst") return (await this.ask("agent/interrupt", { ...change, thenSubmit: input })) !== undefined;
    return (await this.ask("agent/submit", { ...change, input, whenBusy: "steer" })) !== undefined;
  }

  async configure(configuration: Configuration): Promise<void> {
    if (this.current === undefined) {
      this.nextConfiguration = { ...this.nextConfiguration, ...configuration };
      this.notifyListeners({});
      return;
    }
    const answer = await this.requestForCurrent("agent/configure", (change) => ({ ...change, ...configuration, ...(configuration.model !== undefined && { remember: true }) }));
    if (!answer) return;
    this.snapshot.session = { ...this.snapshot.session, ...answer.session };
    const what = Object.entries(configuration).map(([name, value]) => `${name} is ${value}`).join(", ");
    this.showNotice("info", `From ${APPLIES[answer.appliesFrom]} on, ${what}.`);
  }

  /** Sends an optional request. Returns undefined if the server fails or is too old for it. */
  async requestIfSupported<M extends Method>(method: M, params: Requests[M]["params"]): Promise<Requests[M]["result"] | undefined> {
    try {
      return await this.connection.request(method, params);
    } catch (error) {
      if (!isMethodNotFound(error)) this.around.log(`${method}: ${problemOf(error).message}`);
      return undefined;
    }
  }

  /** Stores the draft of a session; without an id, the draft for the next session. */
  keepDraft(draft: DraftInfo, id: string | undefined): void {
    const snapshot = id === undefined ? this.noSession : this.live.get(id)?.snapshot;
    if (snapshot && isReadOnly(snapshot)) return;
    if (snapshot) snapshot.draft = draft;
    if (id !== undefined) this.connection.notify("agent/draft", { sessionId: id, ...draft });
  }

  private notifyListeners(change: Change): void {
    for (const listener of this.listeners) listener(change);
  }

  private report(error: unknown): void {
    const { message, hint, kind = "" } = problemOf(error);
    this.showNotice("error", message, hintForPeople(hint), actionsOf(kind, false));
  }

  protected async ask<M extends Method>(method: M, params: Requests[M]["params"]): Promise<Requests[M]["result"] | undefined> {
    try {
      return await this.connection.request(method, params);
    } catch (error) {
      this.report(error);
      return undefined;
    }
  }

  async requestForCurrent<M extends Method>(
    method: M,
    params: (change: { sessionId: string; clientKey: string }) => Requests[M]["params"],
  ): Promise<Requests[M]["result"] | undefined> {
    if (this.current === undefined) {
      this.showNotice("warn", "There is no session yet.", "Write a message to start a session.");
      return undefined;
    }
    if (refuseIfReadOnly(this, method)) return undefined;
    const sessionId = await this.ensureSession();
    return sessionId === undefined ? undefined : this.ask(method, params({ sessionId, clientKey: this.around.newKey() }));
  }

  /** Returns the id of an open session: creates one if there is none; opens it again if it or the server has ended. */
  private async ensureSession(): Promise<string | undefined> {
    // If a session is being created, the message is for that session.
    await this.making?.done;
    if (this.current === undefined) await this.create();
    else if ((!this.connection.isRunning || this.snapshot.state === "CLOSED") && !(await this.resume())) return undefined;
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
    if (result.snapshot) live.snapshot = restoreSnapshot(result.snapshot, result);
    if (applySubscription(live.snapshot, result) === "gap" && live.gaps < MAX_GAPS) {
      live.gaps += 1;
      live.snapshot = newSnapshot();
      return this.subscribe(id);
    }
    live.subscribing = false;
    this.notifyListeners({ sessionId: id, files: result.pending.hunks, switched: true });
    for (const event of live.early.splice(0)) this.onEvent(event);
  }

  /** Adds the parts of a sent message to its item, because the event contains only the text for the model. */
  private attachMessageParts(snapshot: Snapshot, { kind, data }: AgentEvent): void {
    if (kind !== "user_input" && kind !== "steering_queued") return;
    const { clientKey } = data as { readonly clientKey: string };
    const parts = this.sent.get(clientKey);
    if (parts) setMessageParts(snapshot, parts);
    this.sent.delete(clientKey);
  }

  private take(id: string, live: Live, event: AgentEvent): void {
    const outcome = applyEvent(live.snapshot, event);
    if (outcome === "applied") {
      live.gaps = 0;
      this.attachMessageParts(live.snapshot, event);
      this.notifyListeners({ sessionId: id, event });
    } else if (outcome === "gap" && live.gaps < MAX_GAPS) {
      live.gaps += 1;
      this.subscribe(id).catch((error: unknown) => { this.report(error); });
    }
  }
}
