// The tree view of sessions: by folder, newest first, one page at a time. Sessions are only loaded while the view
// is visible.
import * as vscode from "vscode";
import { type SessionInfo, problemOf } from "../connection/protocol";
import { type Change, isDelta } from "./interfaces";
import type { Sessions } from "./session";
import type { Library } from "./library";
import { rowOf, titleOf } from "./rows";

export const VIEW_ID = "agentLs.sessions";

const SETTLE_MS = 300; // a turn brings several events at once

interface FolderNode {
  readonly kind: "folder";
  readonly name: string;
  readonly uri: string;
}

export interface SessionNode {
  readonly kind: "session";
  readonly info: SessionInfo;
}

interface MoreNode {
  readonly kind: "more";
  readonly folder: string | undefined;
}

interface ProblemNode {
  readonly kind: "problem";
  readonly message: string;
}

type Node = FolderNode | SessionNode | MoreNode | ProblemNode;

interface Read {
  readonly sessions: SessionInfo[];
  cursor: string | undefined;
}

const TELLING = new Set(["title", "state", "session_start", "session_end", "approval_requested", "approval_resolved"]);

export class SessionsTree implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<undefined>();
  private readonly view: vscode.TreeView<Node>;
  private readonly subscriptions: { dispose(): void }[];
  private readonly read = new Map<string | undefined, Read>();
  private timer: NodeJS.Timeout | undefined;
  private isOutdated = false;
  readonly onDidChangeTreeData = this.changed.event;

  constructor(
    private readonly library: Library,
    private readonly sessions: Sessions,
  ) {
    this.view = vscode.window.createTreeView(VIEW_ID, { treeDataProvider: this });
    this.subscriptions = [
      sessions.listen((change) => { this.take(change); }),
      this.view.onDidChangeVisibility(({ visible }) => { if (visible && this.isOutdated) this.refresh(); }),
      vscode.workspace.onDidChangeWorkspaceFolders(() => { this.refresh(); }),
    ];
  }

  /** Reloads the displayed sessions. */
  refresh(): void {
    this.isOutdated = false;
    this.read.clear();
    this.changed.fire(undefined);
  }

  async more(node: unknown): Promise<void> {
    const { folder } = node as MoreNode;
    const known = this.read.get(folder);
    if (known?.cursor === undefined) return;
    const page = await this.library.fetchPage(folder, known.cursor);
    known.sessions.push(...page.sessions);
    known.cursor = page.nextCursor;
    this.changed.fire(undefined);
  }

  async getChildren(node?: Node): Promise<Node[]> {
    if (node?.kind === "folder") return this.sessionsOf(node.uri);
    if (node) return [];
    const folders = (vscode.workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === "file");
    if (folders.length > 1) return folders.map(({ name, uri }) => ({ kind: "folder", name, uri: uri.toString() }));
    return folders[0] ? this.sessionsOf(folders[0].uri.toString()) : [];
  }

  getTreeItem(node: Node): vscode.TreeItem {
    switch (node.kind) {
      case "folder":
        return Object.assign(new vscode.TreeItem(node.name, vscode.TreeItemCollapsibleState.Expanded), { iconPath: vscode.ThemeIcon.Folder });
      case "session":
        return this.sessionItem(node);
      case "more": {
        const item = new vscode.TreeItem("Show more…");
        item.command = { title: "Show more", command: "agentLs.moreSessions", arguments: [node] };
        return item;
      }
      case "problem":
        return Object.assign(new vscode.TreeItem(node.message), { iconPath: new vscode.ThemeIcon("warning"), tooltip: node.message });
    }
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const subscription of this.subscriptions) subscription.dispose();
    this.view.dispose();
    this.changed.dispose();
  }

  private sessionItem({ info }: SessionNode): vscode.TreeItem {
    const row = rowOf(info, this.sessions.currentId, Date.now());
    const item = new vscode.TreeItem(row.label);
    item.id = info.id;
    item.description = row.description;
    item.iconPath = new vscode.ThemeIcon(row.icon);
    item.contextValue = row.context;
    item.accessibilityInformation = { label: row.spoken };
    const what = info.isWalkthrough ? "walkthrough" : `${info.provider} · ${info.model}`;
    item.tooltip = `${titleOf(info)}\n${what}\n${new Date(info.updated).toLocaleString()}`;
    item.command = { title: "Open", command: "agentLs.openSession", arguments: [{ kind: "session", info }] };
    return item;
  }

  private async sessionsOf(folder: string): Promise<Node[]> {
    let known = this.read.get(folder);
    if (!known) {
      try {
        const page = await this.library.fetchPage(folder);
        known = { sessions: [...page.sessions], cursor: page.nextCursor };
      } catch (error) {
        return [{ kind: "problem", message: problemOf(error).message }];
      }
      this.read.set(folder, known);
    }
    const nodes: Node[] = known.sessions.map((info) => ({ kind: "session", info }));
    return known.cursor === undefined ? nodes : [...nodes, { kind: "more", folder }];
  }

  private take(change: Change): void {
    if (isDelta(change)) return;
    const tells = change.switched === true || (change.event !== undefined && TELLING.has(change.event.kind));
    if (!tells) return;
    this.isOutdated = true;
    clearTimeout(this.timer);
    // A hidden view needs no reload, because it is loaded when it becomes visible.
    this.timer = setTimeout(() => { if (this.view.visible) this.refresh(); }, SETTLE_MS);
  }
}
