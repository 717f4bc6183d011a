// Connects one chat page: sends it the session's changes, no faster than it draws them, and handles the user's
// actions. Does not depend on whether the page runs in an editor or in a browser.
import type { DraftInfo } from "../connection/protocol";
import type { Change } from "../sessions/interfaces";
import type { Sessions } from "../sessions/session";
import type { DraftView, Posted, ToView } from "../webview/messages";
import { Drafts } from "./drafts";
import { Feed } from "./feed";
import type { Inbox, Message } from "./inbox";
import { isLate } from "./late_messages";
import type { ViewContext } from "./views";

const FRAME_MS = 16;

export interface PageCallbacks {
  /** Sends a message to the page. */
  post(message: ToView): void;
  /** Stores the unsent prompt while there is no session; undefined: it is empty. */
  keepDraft(draft: DraftInfo | undefined): void;
  /** Runs work that nobody awaits; failures are logged. */
  inBackground(work: Promise<unknown>): void;
  /** Called when the page can receive messages and displays the session. */
  onReady(): void;
}

export class ChatPage {
  hasKeyboard = false;
  private isReady = false;
  /** Whether the page is still drawing the last message. Until it is done, changes are collected for one message. */
  private isDrawing = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private queue: ToView[] = [];
  private readonly feed: Feed;
  private readonly drafts = new Drafts((draft, of) => { this.keepDraft(draft, of === "" ? undefined : of); });
  private readonly subscription: { dispose(): void };

  constructor(
    private readonly sessions: Sessions,
    private readonly inbox: Inbox,
    context: ViewContext,
    private readonly callbacks: PageCallbacks,
  ) {
    this.feed = new Feed(context);
    this.subscription = sessions.listen((change) => { this.take(change); });
  }

  /** Stops sending, because the page is hidden or closed. A new page will report when it is ready. */
  forget(): void {
    this.isReady = this.hasKeyboard = false;
  }

  /** Handles a message of the page. */
  receive(message: Posted): void {
    const { sessions } = this;
    if (message.type === "ready") this.startPage();
    else if (message.type === "drawn") this.onDrawn();
    else if (message.type === "keyboard") this.hasKeyboard = message.isHere;
    else if (message.type === "draft") this.drafts.take(message);
    else if (isLate(message, sessions.currentId)) this.rejectLate(message);
    else if (message.type === "later") this.callbacks.post(this.feed.takeLaterPage(sessions.snapshot, message.after));
    else if (message.type === "end") this.reset();
    else this.callbacks.inBackground(message.type === "earlier" ? this.postEarlier(message.before) : this.handleMessage(message));
  }

  /** Sends a message if the page is ready. */
  postIfReady(message: ToView): void {
    if (this.isReady) this.callbacks.post(message);
  }

  /** Sends a message now, or when the page is ready. */
  postWhenReady(message: ToView): void {
    if (this.isReady) this.callbacks.post(message);
    else this.queue.push(message);
  }

  /** Saves the unsent prompt at once. */
  flush(): void {
    this.drafts.flush();
  }

  dispose(): void {
    this.flush();
    clearTimeout(this.timer);
    this.subscription.dispose();
  }

  private take({ switched, sessionId }: Change): void {
    if (switched === true && this.isReady) this.reset();
    else if (sessionId === this.sessions.currentId) this.schedule();
  }

  private schedule(): void {
    // Wait for one frame, so that changes in quick succession are sent in one message.
    if (!this.isReady || this.isDrawing) return;
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      const update = this.isReady ? this.feed.takeChanges(this.sessions.snapshot) : undefined;
      if (update) this.draw(update);
    }, FRAME_MS);
  }

  /** Drops an action that was meant for the session displayed before. Puts a message back into the prompt. */
  private rejectLate(message: Posted): void {
    if (message.type !== "submit") return;
    this.postWhenReady({ type: "unsent", text: message.text, attachments: message.attachments });
    this.sessions.showNotice("warn", "The message was not sent, because you wrote it in another session.", "The message is in the prompt. Send it again to send it in this session.");
  }

  private startPage(): void {
    this.isReady = true;
    this.reset();
    this.callbacks.onReady();
    for (const message of this.queue.splice(0)) this.callbacks.post(message);
  }

  private onDrawn(): void {
    this.isDrawing = false;
    this.schedule();
  }

  private reset(): void {
    const { snapshot, currentId } = this.sessions;
    this.flush(); // save the draft of the session that the page still displays
    const message = this.feed.takeNewestPage(snapshot);
    if (message.type === "reset") this.drafts.replace(message.draft ?? { text: "", attachments: [] }, currentId ?? "");
    this.draw(message);
  }

  private async postEarlier(before: number): Promise<void> {
    const { sessions } = this;
    if (before <= sessions.snapshot.first) await sessions.fetchEarlier();
    this.callbacks.post(this.feed.takeEarlierPage(sessions.snapshot, before));
  }

  private async handleMessage(message: Message): Promise<void> {
    const answer = await this.inbox.take(message);
    if (answer?.type === "unsent") this.postWhenReady(answer); // the user's text must outlive a hidden page
    else if (answer) this.postIfReady(answer);
  }

  private keepDraft({ text, attachments }: DraftView, id: string | undefined): void {
    const draft: DraftInfo = { text, attachments: attachments.map(({ part }) => part) };
    this.sessions.keepDraft(draft, id);
    if (id === undefined) this.callbacks.keepDraft(text === "" && attachments.length === 0 ? undefined : draft);
  }

  private draw(message: ToView): void {
    this.isDrawing = true;
    this.callbacks.post(message);
  }
}
