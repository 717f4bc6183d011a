// The chat view of the editor, which holds the chat page.
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import type { Ctx } from "../ctx";
import { inBackground } from "../logger";
import type { DraftInfo } from "../connection/protocol";
import { nameInWorktree } from "../connection/uris";
import type { Along, Attachment, Posted, ToView } from "../webview/messages";
import { ChatPage } from "./chat_page";
import type { Inbox } from "./inbox";
import { renderPage } from "./page";

export const VIEW_ID = "agentLs.chat";

const DRAFT_KEY = "agentLs.draft"; // draft of the prompt while there is no session

/** Returns the path relative to the workspace. For the workspace folder itself, returns its name. */
function relative(path: string): string {
  const own = vscode.workspace.workspaceFolders?.find((folder) => folder.uri.fsPath === path);
  return own?.name ?? vscode.workspace.asRelativePath(path);
}

export class ChatPanel implements vscode.WebviewViewProvider, vscode.Disposable {
  private view: vscode.WebviewView | undefined;
  private readonly page: ChatPage;
  private readonly registration: vscode.Disposable;
  /** Called when the view is shown for the first time. */
  onFirstShow: () => void = () => undefined;
  /** Called when the view becomes visible or hidden. */
  onVisibility: () => void = () => undefined;

  constructor(
    private readonly ctx: Ctx,
    inbox: Inbox,
    private readonly along: () => Along | null,
  ) {
    const { extension, log, sessions } = ctx;
    const draft = extension.workspaceState.get<DraftInfo>(DRAFT_KEY);
    if (draft) sessions.snapshot.draft = draft;
    const name = (path: string) => nameInWorktree(path, sessions.snapshot.session.worktree) ?? relative(path);
    this.page = new ChatPage(sessions, inbox, { relative: name }, {
      post: (message) => { this.post(message); },
      keepDraft: (kept) => { inBackground(log, extension.workspaceState.update(DRAFT_KEY, kept)); },
      inBackground: (work) => { inBackground(log, work); },
      onReady: () => { this.showAlong(); },
    });
    this.registration = vscode.window.registerWebviewViewProvider(VIEW_ID, this);
  }

  get isVisible(): boolean {
    return this.view?.visible ?? false;
  }

  set badge(badge: vscode.ViewBadge | undefined) {
    if (this.view) this.view.badge = badge;
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    this.page.forget();
    const folder = vscode.Uri.joinPath(this.ctx.extension.extensionUri, "out", "webview");
    view.webview.options = { enableScripts: true, localResourceRoots: [folder] };
    view.webview.onDidReceiveMessage((message: Posted) => { this.page.receive(message); });
    view.onDidChangeVisibility(() => {
      if (!view.visible) this.page.forget(); // the page does not exist while the view is hidden
      this.onVisibility();
    });
    view.onDidDispose(() => {
      this.view = undefined;
      this.page.forget();
    });
    view.webview.html = renderPage(view.webview, folder, randomBytes(16).toString("base64"));
    this.onFirstShow();
    this.onVisibility();
  }

  /** Shows the chat and focuses the prompt. Only for actions of the user. */
  async focus(): Promise<void> {
    // If the page already has the focus, the command would briefly move the focus away, and lose keys typed
    // at that moment.
    if (!this.page.hasKeyboard) await vscode.commands.executeCommand(`${VIEW_ID}.focus`);
    this.page.postWhenReady({ type: "focus" });
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
    this.page.postWhenReady({ type: "attach", attachment });
  }

  /** Sends the automatic attachment of messages (the active file) to the page. */
  showAlong(): void {
    this.page.postIfReady({ type: "along", along: this.along() });
  }

  /** Informs the page that a session is being created. */
  expect(): void {
    this.page.postIfReady({ type: "making" });
  }

  /** Saves the unsent prompt at once. */
  flush(): void {
    this.page.flush();
  }

  dispose(): void {
    this.page.dispose();
    this.registration.dispose();
  }

  private post(message: ToView): void {
    if (this.view) inBackground(this.ctx.log, this.view.webview.postMessage(message));
  }
}
