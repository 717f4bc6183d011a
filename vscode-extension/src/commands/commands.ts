// The commands, in one table of names and handlers.
import * as vscode from "vscode";
import { openMemory } from "../chat/memory";
import { selectionOf } from "../chat/offers";
import type { Plans } from "../chat/plan";
import type { ApprovalPicker } from "../approvals/picker";
import type { ChatPanel } from "../chat/panel";
import type { AgentActions } from "../context/code_actions";
import type { Ctx } from "../ctx";
import type { ApprovalItem } from "../snapshot/items";
import type { Keys } from "../settings/api_keys";
import { refuseIfReadOnly } from "../sessions/owners";
import type { NewSessionChoice } from "../connection/protocol";
import { showFailure } from "./failure";
import { chooseFolder, chooseRunning, chooseSession, configure } from "./pickers";
import type { ReviewCommands } from "../review/commands";
import type { SessionCommands } from "../sessions/actions";
import { chooseRollBack, compact, showRules } from "../sessions/rollback";
import { showServers } from "../sessions/servers";
import { pendingApprovals } from "../snapshot/snapshot";
import type { Terminals } from "../terminals/terminals";

type Run = (...args: unknown[]) => unknown;

interface Parts {
  readonly ctx: Ctx;
  readonly panel: ChatPanel;
  readonly review: ReviewCommands;
  readonly terminals: Terminals;
  readonly library: SessionCommands;
  readonly picker: ApprovalPicker;
  readonly actions: AgentActions;
  readonly keys: Keys;
  readonly plans: Plans;
  /** Further tables of commands. */
  readonly more: readonly Readonly<Record<string, Run>>[];
}

function addSelection({ panel }: Parts): Promise<void> | undefined {
  const editor = vscode.window.activeTextEditor;
  if (!editor || editor.selection.isEmpty) return undefined;
  panel.attach(selectionOf(editor));
  return panel.focus();
}

/** Adds the files and folders selected in the explorer, else the active file. */
async function addToChat({ panel }: Parts, first: unknown, all: unknown): Promise<void> {
  const chosen = (Array.isArray(all) && all.length > 0 ? all : [first ?? vscode.window.activeTextEditor?.document.uri]) as unknown[];
  for (const uri of chosen) {
    if (!(uri instanceof vscode.Uri) || uri.scheme !== "file") continue;
    const { type } = await vscode.workspace.fs.stat(uri);
    const isFolder = (type & vscode.FileType.Directory) !== 0;
    panel.attach({ label: vscode.workspace.asRelativePath(uri), part: { type: isFolder ? "folder" : "file", uri: uri.toString() } });
  }
  await panel.focus();
}

/** Answers the oldest pending approval. */
async function answer({ ctx }: Parts, how: (item: ApprovalItem) => Promise<void>): Promise<void> {
  const [asked] = pendingApprovals(ctx.sessions.snapshot);
  if (asked) await how(asked);
  else refuseIfReadOnly(ctx.sessions, "agent/approve", "answered");
}

/** Shows a suggestion at the cursor. Starts the server first, because the language client then registers the provider. */
async function suggest({ ctx }: Parts): Promise<void> {
  try {
    await ctx.client.ensureStarted();
  } catch (error) {
    await showFailure(error);
    return;
  }
  await vscode.commands.executeCommand("editor.action.inlineSuggest.trigger");
}

async function restart({ ctx }: Parts): Promise<void> {
  await ctx.client.stop();
  await ctx.sessions.resume();
}

async function newSession({ ctx, panel }: Parts, choice: NewSessionChoice = {}): Promise<void> {
  const folder = await chooseFolder();
  if (folder === undefined) return;
  // Focus the prompt before there is a session, because the server takes a moment to start and the user may already
  // type. If creating the session fails, the chat shows why.
  panel.expect();
  // Start creating the session before the focus moves, so that a message sent in between waits for this session and
  // does not create another one.
  const making = ctx.sessions.create(choice, folder ?? undefined);
  await Promise.all([panel.focus(), making]);
}

async function otherSession({ ctx, panel }: Parts): Promise<void> {
  if (await chooseSession(ctx.sessions)) await panel.focus();
}

async function runningSession({ ctx, panel }: Parts): Promise<void> {
  if (await chooseRunning(ctx.sessions)) await panel.focus();
}

/** Applies the changes of the session's git worktree to the folder. The chat reports the outcome. */
async function bringChanges({ ctx }: Parts): Promise<void> {
  const files = await ctx.sessions.bringChanges();
  if (files?.length === 0) void vscode.window.setStatusBarMessage("agent-ls: the folder already has all changes of the worktree", 4000);
}

function table(parts: Parts): Readonly<Record<string, Run>> {
  const { ctx, panel, review, terminals, library, picker, actions, keys, plans, more } = parts;
  const { sessions } = ctx;
  return {
    open: () => panel.focus(),
    newSession: () => newSession(parts),
    newWorktreeSession: () => newSession(parts, { worktree: "current" }),
    bringChanges: () => bringChanges(parts),
    runningSessions: () => runningSession(parts),
    demo: () => newSession(parts, { provider: "walkthrough" }),
    sessions: () => otherSession(parts),
    stop: () => sessions.interrupt(),
    endSession: () => sessions.abort(),
    unsteer: () => sessions.unsteer(),
    configure: () => configure(sessions),
    memory: () => openMemory(ctx.client),
    compact: () => compact(sessions),
    rules: () => showRules(sessions),
    mcp: () => showServers(sessions),
    rollBack: () => chooseRollBack(sessions),
    addSelection: () => addSelection(parts),
    addToChat: (uri, uris) => addToChat(parts, uri, uris),
    suggest: () => suggest(parts),
    approve: () => answer(parts, (item) => picker.allow(item)),
    deny: () => answer(parts, (item) => picker.denyWithReason(item)),
    answer: () => answer(parts, (item) => picker.ask(item)),
    ...review.commands,
    ...library.commands,
    ...actions.commands,
    ...plans.commands,
    ...Object.assign({}, ...more) as Record<string, Run>,
    terminals: () => terminals.choose(),
    firstSteps: () => vscode.commands.executeCommand("workbench.action.openWalkthrough", `${ctx.extension.extension.id}#firstSteps`, false),
    setApiKey: () => keys.set(),
    removeApiKey: () => keys.remove(),
    restart: () => restart(parts),
    showLog: () => { ctx.log.show(true); },
  };
}

export function registerCommands(parts: Parts): vscode.Disposable {
  const entries = Object.entries(table(parts));
  return vscode.Disposable.from(...entries.map(([name, run]) => vscode.commands.registerCommand(`agentLs.${name}`, run)));
}
