// Data of the empty chat: example prompts for this project, recent sessions, and whether an API key is set.
import * as vscode from "vscode";
import type { Ctx } from "../ctx";
import { inBackground } from "../logger";
import { isDelta } from "../sessions/interfaces";
import { formatAge } from "../sessions/rows";
import type { Home } from "../webview/messages";
import type { Catalog } from "./catalog";
import { type Project, type Recent, examplesFor, withRecent } from "./home_model";

const KEY = "agentLs.recent";
const SHOWN = 3;
const OUTSIDE = "**/{node_modules,.venv,.git,dist,out}/**";

async function exists(pattern: string): Promise<boolean> {
  return (await vscode.workspace.findFiles(pattern, OUTSIDE, 1)).length > 0;
}

async function project(): Promise<Project> {
  const uri = vscode.window.activeTextEditor?.document.uri;
  const file = uri?.scheme === "file" && vscode.workspace.getWorkspaceFolder(uri) ? vscode.workspace.asRelativePath(uri) : "";
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const hasGit = folder !== undefined && (await vscode.workspace.fs.stat(vscode.Uri.joinPath(folder, ".git")).then(() => true, () => false));
  return { file, hasTests: await exists("**/{test,tests,spec,__tests__}/**"), hasGit, hasReadme: await exists("README*") };
}

export class HomePage implements vscode.Disposable {
  private readonly subscription: { dispose(): void };

  constructor(
    private readonly ctx: Ctx,
    private readonly catalog: Catalog,
    private readonly hasStoredKey: () => boolean,
  ) {
    this.subscription = ctx.sessions.listen((change) => { if (!isDelta(change)) this.remember(); });
  }

  /** Collects the data. Does not start the server. */
  async collectHome(): Promise<Home> {
    const { client, sessions } = this.ctx;
    const recents = this.recents.filter(({ id }) => id !== sessions.currentId).slice(0, SHOWN);
    const models = client.isRunning ? await this.catalog.models(false) : null;
    const { provider } = sessions.snapshot.session;
    const theirs = models?.providers.find(({ id }) => id === (provider ?? models.defaultProvider));
    return {
      examples: examplesFor(await project()),
      recents: recents.map(({ id, title, updatedMs }) => ({ id, title, when: formatAge(updatedMs, Date.now()) })),
      key: theirs ? (theirs.hasKey ? "set" : "missing") : this.hasStoredKey() ? "set" : "unknown",
      provider: theirs?.name ?? "",
    };
  }

  dispose(): void {
    this.subscription.dispose();
  }

  private get recents(): readonly Recent[] {
    return this.ctx.extension.workspaceState.get<readonly Recent[]>(KEY, []);
  }

  private remember(): void {
    const { sessions, extension, log } = this.ctx;
    const { id, title, isWalkthrough } = sessions.snapshot.session;
    if (id === undefined || title === undefined || title === "" || isWalkthrough === true) return;
    const now = withRecent(this.recents, { id, title, updatedMs: Date.now() });
    if (now) inBackground(log, extension.workspaceState.update(KEY, now));
  }

  /** Opens a recent session; one that cannot be opened is removed from the list. */
  async open(id: string): Promise<void> {
    const { sessions, extension } = this.ctx;
    if (await sessions.open(id)) return;
    await extension.workspaceState.update(KEY, this.recents.filter((each) => each.id !== id));
  }
}
