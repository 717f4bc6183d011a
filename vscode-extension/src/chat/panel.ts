// The chat view: sends the webview what changed, at most once a frame, and hands on what the user does there.
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import type { Ctx } from "../ctx";
import { inBackground } from "../logger";
import type { Change } from "../seams";
import type { Attachment, FromView, ToView } from "../webview/messages";
import { Feed } from "./feed";
import type { Inbox } from "./inbox";
import { page } from "./page";

export const VIEW_ID = "agentLs.chat";

const FRAME_MS = 16;

/** A path as people read it; the workspace folder itself by its name. */
function relative(path: string): string {
  const own = vscode.workspace.workspaceFolders?.find((folder) => folder.uri.fsPath === path);
  return own?.name ?? vscode.workspace.asRelativePath(path);
}

export class ChatPanel implements vscode.WebviewViewProvider, vscode.Disposable {
  private view: vscode.WebviewView | undefined;
  private isReady = false;
  private timer: NodeJS.Timeout | undefined;
  private waiting: ToView[] = [];
  private readonly feed = new Feed({ relative });
  private readonly subscriptions: { dispose(): void }[];
  /** Called when the view is shown for the first time. */
  onFirstShow: () => void = () => undefined;

  constructor(
    private readonly ctx: Ctx,
    private readonly inbox: Inbox,
  ) {
    this.subscriptions = [
      vscode.window.registerWebviewViewProvider(VIEW_ID, this),
      ctx.sessions.listen((change) => { this.take(change); }),
    ];
  }

  get isVisible(): boolean {
    return this.view?.visible ?? false;
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    this.isReady = false;
    const folder = vscode.Uri.joinPath(this.ctx.extension.extensionUri, "out", "webview");
    view.webview.options = { enableScripts: true, localResourceRoots: [folder] };
    view.webview.onDidReceiveMessage((message: FromView) => { this.receive(message); });
    view.onDidDispose(() => {
      this.view = undefined;
      this.isReady = false;
    });
    view.webview.html = page(view.webview, folder, randomBytes(16).toString("base64"));
    this.onFirstShow();
  }

  /** Shows the chat and puts the cursor into the prompt: only when the user asked for it. */
  async focus(): Promise<void> {
    await vscode.commands.executeCommand(`${VIEW_ID}.focus`);
    this.later({ type: "focus" });
  }

  attach(attachment: Attachment): void {
    this.later({ type: "attach", attachment });
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  private take({ switched, sessionId }: Change): void {
    if (switched === true && this.isReady) this.post(this.feed.reset(this.ctx.sessions.snapshot));
    else if (sessionId === this.ctx.sessions.currentId) this.schedule();
  }

  private schedule(): void {
    // The first change goes soon, those within the same frame with it.
    if (!this.isReady) return;
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      const update = this.feed.update(this.ctx.sessions.snapshot);
      if (update) this.post(update);
    }, FRAME_MS);
  }

  private receive(message: FromView): void {
    if (message.type === "ready") this.ready();
    else if (message.type === "earlier") this.post(this.feed.earlier(this.ctx.sessions.snapshot, message.before));
    else inBackground(this.ctx.log, this.handOn(message));
  }

  private async handOn(message: Parameters<Inbox["take"]>[0]): Promise<void> {
    const unsent = await this.inbox.take(message);
    if (unsent) this.post(unsent);
  }

  private ready(): void {
    this.isReady = true;
    this.post(this.feed.reset(this.ctx.sessions.snapshot));
    for (const message of this.waiting.splice(0)) this.post(message);
  }

  /** Now, or when the page is there. */
  private later(message: ToView): void {
    if (this.isReady) this.post(message);
    else this.waiting.push(message);
  }

  private post(message: ToView): void {
    if (this.view) inBackground(this.ctx.log, this.view.webview.postMessage(message));
  }
}
