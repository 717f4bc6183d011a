// The tree view of pending changes, with keep and undo on each line. tree_model.ts computes its nodes.
import { basename, dirname } from "node:path";
import * as vscode from "vscode";
import type { Sessions } from "../sessions/session";
import type { ReviewGuide } from "./guide";
import { describeRow, iconOf, spellRow, titleOf } from "./guide_words";
import type { ReviewStore } from "./store";
import { type Grouping, type Node, type RowNode, childNodes, contextOf, hunksOf, isUnchangedMove, nodeId, newestTurn, rootNodes, rowNodes, formatSummary } from "./tree_model";
import { listHunks } from "./model";
import { formatCount, firstChangedLine, describeHunk, formatSize, describePosition } from "./words";

export const VIEW_ID = "agentLs.changes";

const GROUPING_KEY = "agentLs.changes.grouping";
const HUNK_ICONS: Partial<Record<string, string>> = { edited: "edit", stale: "warning", proposed: "lightbulb" };

/** Returns the user's message for each turn of the displayed session, oldest first. */
function turnTitles(sessions: Sessions): Map<string, string> {
  const titles = new Map<string, string>();
  for (const item of sessions.snapshot.items) if (item.kind === "user" && item.turnId !== undefined) titles.set(item.turnId, item.text);
  return titles;
}

export class ChangesTree implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<undefined>();
  private readonly view: vscode.TreeView<Node>;
  private readonly subscriptions: readonly vscode.Disposable[];
  readonly onDidChangeTreeData = this.changed.event;

  constructor(
    private readonly memory: vscode.Memento,
    private readonly store: ReviewStore,
    private readonly sessions: Sessions,
    private readonly guide: ReviewGuide,
  ) {
    this.view = vscode.window.createTreeView(VIEW_ID, { treeDataProvider: this, showCollapseAll: true });
    this.subscriptions = [store.onDidChange(() => { this.draw(); }), guide.onDidChange(() => { this.draw(); })];
    guide.show(this.grouping === "guide");
    this.draw();
  }

  get grouping(): Grouping {
    return this.memory.get<Grouping>(GROUPING_KEY, "file");
  }

  async group(by: Grouping, turnId?: string): Promise<void> {
    await this.memory.update(GROUPING_KEY, by);
    this.guide.show(by === "guide", turnId);
    this.draw();
  }

  /** Opens the view, which is hidden at first, with its changes in reading order. */
  async guided(): Promise<void> {
    await this.group("guide");
    await vscode.commands.executeCommand(`${VIEW_ID}.focus`);
  }

  /** Lists the changes of the newest turn with changes to review, in reading order. */
  async listNewestTurn(): Promise<void> {
    const turnId = newestTurn([...turnTitles(this.sessions).keys()], this.store.hunks);
    if (turnId === undefined) void vscode.window.showInformationMessage("No turn of this session has changes to review.");
    else await this.group("guide", turnId);
  }

  getChildren(node?: Node): Node[] {
    if (node) return [...childNodes(node)];
    if (this.grouping === "guide") return rowNodes(this.guide.rows, this.store.hunks);
    return rootNodes(this.store.hunks, this.grouping, [...turnTitles(this.sessions).keys()]);
  }

  getTreeItem(node: Node): vscode.TreeItem {
    const item = this.itemOf(node);
    item.id = nodeId(node);
    item.contextValue = this.store.areReadOnly(hunksOf(node)) ? `${node.kind}.others` : contextOf(node);
    return item;
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
    this.view.dispose();
    this.changed.dispose();
  }

  private draw(): void {
    const { hunks } = this.store;
    const number = listHunks(hunks).length;
    this.view.badge = number === 0 ? undefined : { value: number, tooltip: `${formatCount(number, "change")} by the agent to review` };
    this.view.description = formatSummary(hunks);
    void vscode.commands.executeCommand("setContext", "agentLs.changesByTurn", this.grouping === "turn");
    void vscode.commands.executeCommand("setContext", "agentLs.changesInReadingOrder", this.grouping === "guide");
    const { turnId } = this.guide;
    void vscode.commands.executeCommand("setContext", "agentLs.changesOfOneTurn", turnId !== undefined);
    this.view.message = turnId === undefined ? "" : `Only the turn: ${turnTitles(this.sessions).get(turnId)?.split("\n")[0] ?? "an earlier one"}`;
    this.changed.fire(undefined);
  }

  private itemOf(node: Node): vscode.TreeItem {
    const { None, Expanded } = vscode.TreeItemCollapsibleState;
    if (node.kind === "turn") {
      const title = turnTitles(this.sessions).get(node.turnId)?.split("\n")[0] ?? "An earlier turn";
      const item = new vscode.TreeItem(title, Expanded);
      return Object.assign(item, { description: formatSize(hunksOf(node)), iconPath: new vscode.ThemeIcon("comment") });
    }
    if (node.kind === "file") {
      const uri = vscode.Uri.parse(node.uri);
      const folder = dirname(vscode.workspace.asRelativePath(uri));
      const moved = node.movedFrom === undefined ? "" : `moved from ${vscode.workspace.asRelativePath(vscode.Uri.parse(node.movedFrom))}`;
      const sum = isUnchangedMove(node) ? "" : formatSize(node.hunks);
      const description = [folder === "." ? "" : folder, moved, sum].filter(Boolean).join("  ");
      const item = new vscode.TreeItem(basename(uri.path), isUnchangedMove(node) ? None : node.hunks.length > 1 ? Expanded : vscode.TreeItemCollapsibleState.Collapsed);
      const tooltip = `${uri.fsPath}\n${moved || formatCount(node.hunks.length, "change")}`;
      return Object.assign(item, { description, resourceUri: uri, iconPath: vscode.ThemeIcon.File, tooltip });
    }
    if (node.kind === "row") return this.rowItem(node);
    const { hunk } = node;
    const item = new vscode.TreeItem(firstChangedLine(hunk), None);
    item.description = `${describeHunk(hunk)} · ${describePosition(hunk)}`;
    item.iconPath = new vscode.ThemeIcon(HUNK_ICONS[hunk.state] ?? (hunk.newLines.length === 0 ? "diff-removed" : hunk.oldLines.length === 0 ? "diff-added" : "diff-modified"));
    item.command = { title: "Show", command: "agentLs.showHunk", arguments: [node] };
    item.accessibilityInformation = { label: `${firstChangedLine(hunk)}, ${describeHunk(hunk)}, ${describePosition(hunk)}` };
    return item;
  }

  private rowItem(node: RowNode): vscode.TreeItem {
    const { None, Collapsed } = vscode.TreeItemCollapsibleState;
    const item = new vscode.TreeItem(titleOf(node.guided), childNodes(node).length > 0 ? Collapsed : None);
    const spelled = spellRow(node.guided);
    return Object.assign(item, {
      description: describeRow(node.guided),
      iconPath: new vscode.ThemeIcon(iconOf(node.guided)),
      tooltip: spelled,
      accessibilityInformation: { label: spelled },
      ...(node.guided.hunks.length > 0 && { command: { title: "Show", command: "agentLs.showHunk", arguments: [node] } }),
    });
  }
}
