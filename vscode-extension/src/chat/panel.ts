// The chat view: sends changes to the webview, not faster than it draws, and passes on the user's actions.
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import type { Ctx } from "../ctx";
import { inBackground } from "../logger";
import type { DraftInfo } from "../protocol";
import type { Change } from "../seams";
import type { Along, Attachment, DraftView, Posted, ToView } from "../webview/messages";
import { Drafts } from "./drafts";
import { Feed } from "./feed";
import type { Inbox, Message } from "./inbox";
import { isLate } from "./late";
import { page } from "./page";

export const VIEW_ID = "agentLs.chat";

const FRAME_MS = 16;
const DRAFT_KEY = "agentLs.draft"; // draft of the prompt while there is no session

/** A path relative to the workspace; the name of the workspace folder itself. */
function relative(path: string): string {
  const own = vscode.workspace.workspaceFolders?.find((folder) => folder.uri.fsPath === path);
  return own?.name ?? vscode.workspace.asRelativePath(path);
}

export class ChatPanel implements vscode.WebviewViewProvider, vscode.Disposable {
  private view: vscode.WebviewView | undefined;
  private isReady = false;
  private hasKeyboard = false;
  /** The page is still drawing the last message. Changes until then are sent in one message. */
  private isDrawing = false;
  private timer: NodeJS.Timeout | undefined;
  private waiting: ToView[] = [];
  private readonly feed = new Feed({ relative });
  private readonly drafts = new Drafts((draft, of) => { this.keepDraft(draft, of === "" ? undefined : of); });
  private readonly subscriptions: { dispose(): void }[];
  /** Called when the view is shown for the first time. */
  onFirstShow: () => void = () => undefined;
  /** Called when the view becomes visible or hidden. */
  onVisibility: () => void = () => undefined;

  constructor(
    private readonly ctx: Ctx,
    private readonly inbox: Inbox,
    private readonly along: () => Along | null,
  ) {
    const draft = ctx.extension.workspaceState.get<DraftInfo>(DRAFT_KEY);
    if (draft) ctx.sessions.snapshot.draft = draft;
    this.subscriptions = [
      vscode.window.registerWebviewViewProvider(VIEW_ID, this),
      ctx.sessions.listen((change) => { this.take(change); }),
    ];
  }

  get isVisible(): boolean {
    return this.view?.visible ?? false;
  }

  set badge(badge: vscode.ViewBadge | undefined) {
    if (this.view) this.view.badge = badge;
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    this.isReady = this.hasKeyboard = false;
    const folder = vscode.Uri.joinPath(this.ctx.extension.extensionUri, "out", "webview");
    view.webview.options = { enableScripts: true, localResourceRoots: [folder] };
    view.webview.onDidReceiveMessage((message: Posted) => { this.receive(message); });
    view.onDidChangeVisibility(() => {
      if (!view.visible) this.isReady = this.hasKeyboard = false; // the page does not exist while the view is hidden
      this.onVisibility();
    });
    view.onDidDispose(() => {
      this.view = undefined;
      this.isReady = this.hasKeyboard = false;
    });
    view.webview.html = page(view.webview, folder, randomBytes(16).toString("base64"));
    this.onFirstShow();
    this.onVisibility();
  }

  /** Shows the chat and focuses the prompt. Only for actions of the user. */
  async focus(): Promise<void> {
    // Focusing it again would move the focus away for a moment, and keys typed then would be lost.
    if (!this.hasKeyboard) await vscode.commands.executeCommand(`${VIEW_ID}.focus`);
    this.later({ type: "focus" });
  }

  /** Shows the chat without moving the focus. */
  async reveal(): Promise<void> {
    if (this.view) {
      this.view.show(true);
      return;
    }
    await vscode.commands.executeCommand(`${VIEW_ID}.focus`);
    await vscode.commands.executeCommand("workbench.action.focusActiveEditorGroup");
  }

  attach(attachment: Attachment): void {
    this.later({ type: "attach", attachment });
  }

  /** Updates the automatic attachment of messages. */
  showAlong(): void {
    if (this.isReady) this.post({ type: "along", along: this.along() });
  }

  /** Tells the page that a session is being created. */
  expect(): void {
    if (this.isReady) this.post({ type: "making" });
  }

  /** Saves the unsent prompt at once. */
  flush(): void {
    this.drafts.flush();
  }

  dispose(): void {
    this.flush();
    clearTimeout(this.timer);
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  private take({ switched, sessionId }: Change): void {
    const { currentId } = this.ctx.sessions;
    if (switched === true && this.isReady) this.reset();
    else if (sessionId === currentId) this.schedule();
  }

  private schedule(): void {
    // The first change is sent soon, together with others of the same frame.
    if (!this.isReady || this.isDrawing) return;
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      const update = this.isReady ? this.feed.update(this.ctx.sessions.snapshot) : undefined;
      if (update) this.draw(update);
    }, FRAME_MS);
  }

  private receive(message: Posted): void {
    if (message.type === "ready") this.ready();
    else if (message.type === "drawn") this.drawn();
    else if (message.type === "keyboard") this.hasKeyboard = message.isHere;
    else if (message.type === "draft") this.drafts.take(message);
    else if (isLate(message, this.ctx.sessions.currentId)) this.late(message);
    else if (message.type === "later") this.post(this.feed.later(this.ctx.sessions.snapshot, message.after));
    else if (message.type === "end") this.reset();
    else inBackground(this.ctx.log, message.type === "earlier" ? this.earlier(message.before) : this.handOn(message));
  }

  /** Handles an action for a session that is no longer displayed: only its draft must not be lost. */
  private late(message: Posted): void {
    if (message.type !== "submit") return;
    this.post({ type: "unsent", text: message.text, attachments: message.attachments });
    this.ctx.sessions.say("warn", "The message was not sent: it was written in another session.", "It is in the prompt. Send it again to say it here.");
  }

  private ready(): void {
    this.isReady = true;
    this.reset();
    this.showAlong();
    for (const message of this.waiting.splice(0)) this.post(message);
  }

  private drawn(): void {
    this.isDrawing = false;
    this.schedule();
  }

  private reset(): void {
    const { snapshot, currentId } = this.ctx.sessions;
    this.flush(); // into the session displayed now
    const message = this.feed.reset(snapshot);
    if (message.type === "reset") this.drafts.replace(message.draft ?? { text: "", attachments: [] }, currentId ?? "");
    this.draw(message);
  }

  private async earlier(before: number): Promise<void> {
    const { sessions } = this.ctx;
    if (before <= sessions.snapshot.first) await sessions.earlier();
    this.post(this.feed.earlier(sessions.snapshot, before));
  }

  private async handOn(message: Message): Promise<void> {
    const answer = await this.inbox.take(message);
    if (answer) this.post(answer);
  }

  private keepDraft({ text, attachments }: DraftView, id: string | undefined): void {
    const draft: DraftInfo = { text, attachments: attachments.map(({ part }) => part) };
    this.ctx.sessions.keepDraft(draft, id);
    if (id !== undefined) return;
    const kept = text === "" && attachments.length === 0 ? undefined : draft;
    inBackground(this.ctx.log, this.ctx.extension.workspaceState.update(DRAFT_KEY, kept));
  }

  /** Sends a message now, or when the page is ready. */
  private later(message: ToView): void {
    if (this.isReady) this.post(message);
    else this.waiting.push(message);
  }

  private draw(message: ToView): void {
    this.isDrawing = true;
    this.post(message);
  }

  private post(message: ToView): void {
    if (this.view) inBackground(this.ctx.log, this.view.webview.postMessage(message));
  }
}
