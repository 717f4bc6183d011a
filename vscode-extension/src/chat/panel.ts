// The chat view: sends the webview what changed, never faster than it draws, and hands on what the user does there.
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import type { Ctx } from "../ctx";
import { inBackground } from "../logger";
import type { Draft } from "../protocol_chat";
import type { Change } from "../seams";
import type { Attachment, DraftView, Posted, ToView } from "../webview/messages";
import { Drafts } from "./drafts";
import { Feed } from "./feed";
import type { Inbox, Message } from "./inbox";
import { isLate } from "./late";
import { page } from "./page";

export const VIEW_ID = "agentLs.chat";

const FRAME_MS = 16;
const DRAFT_KEY = "agentLs.draft"; // of the prompt while there is no session

/** A path as people read it; the workspace folder itself by its name. */
function relative(path: string): string {
  const own = vscode.workspace.workspaceFolders?.find((folder) => folder.uri.fsPath === path);
  return own?.name ?? vscode.workspace.asRelativePath(path);
}

export class ChatPanel implements vscode.WebviewViewProvider, vscode.Disposable {
  private view: vscode.WebviewView | undefined;
  private isReady = false;
  private hasKeyboard = false;
  /** The page is still drawing what it was sent last. What changes meanwhile is sent in one piece. */
  private isDrawing = false;
  private timer: NodeJS.Timeout | undefined;
  private waiting: ToView[] = [];
  private readonly feed = new Feed({ relative });
  private readonly drafts = new Drafts((draft, of) => { this.keepDraft(draft, of === "" ? undefined : of); });
  private readonly subscriptions: { dispose(): void }[];
  /** Called when the view is shown for the first time. */
  onFirstShow: () => void = () => undefined;
  /** Called when the view comes into sight or goes out of it. */
  onVisibility: () => void = () => undefined;

  constructor(
    private readonly ctx: Ctx,
    private readonly inbox: Inbox,
  ) {
    const draft = ctx.extension.workspaceState.get<Draft>(DRAFT_KEY);
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
      if (!view.visible) this.isReady = this.hasKeyboard = false; // its page is gone until it is shown again
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

  /** Shows the chat and puts the cursor into the prompt: only when the user asked for it. */
  async focus(): Promise<void> {
    // Giving it what it has would take it away for a moment, and what is typed in that moment would be lost.
    if (!this.hasKeyboard) await vscode.commands.executeCommand(`${VIEW_ID}.focus`);
    this.later({ type: "focus" });
  }

  /** Shows the chat and leaves the cursor where it is. */
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

  /** A session is being made, to be shown here. */
  expect(): void {
    if (this.isReady) this.post({ type: "making" });
  }

  /** Keeps at once what is written but not sent. */
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
    // The first change goes soon, those within the same frame with it.
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

  /** Done in a session that is not shown any more: only what was written must not be lost. */
  private late(message: Posted): void {
    if (message.type !== "submit") return;
    this.post({ type: "unsent", text: message.text, attachments: message.attachments });
    this.ctx.sessions.say("warn", "The message was not sent: it was written in another session.", "It is in the prompt. Send it again to say it here.");
  }

  private ready(): void {
    this.isReady = true;
    this.reset();
    for (const message of this.waiting.splice(0)) this.post(message);
  }

  private drawn(): void {
    this.isDrawing = false;
    this.schedule();
  }

  private reset(): void {
    const { snapshot, currentId } = this.ctx.sessions;
    this.flush(); // into what is shown now
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
    const draft: Draft = { text, attachments: attachments.map(({ part }) => part) };
    this.ctx.sessions.keepDraft(draft, id);
    if (id !== undefined) return;
    const kept = text === "" && attachments.length === 0 ? undefined : draft;
    inBackground(this.ctx.log, this.ctx.extension.workspaceState.update(DRAFT_KEY, kept));
  }

  /** Now, or when the page is there. */
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
