// The commands: names and what each does, in one table.
import * as vscode from "vscode";
import { selectionOf } from "./chat/offers";
import type { ApprovalPicker } from "./approvals/picker";
import type { ChatPanel } from "./chat/panel";
import type { Ctx } from "./ctx";
import type { ApprovalItem } from "./items";
import type { Keys } from "./keys";
import { chooseSession, configure } from "./pickers";
import type { ReviewFace } from "./review/commands";
import type { SessionsFace } from "./sessions/actions";
import { pendingApprovals } from "./snapshot";
import type { Terminals } from "./terminals/terminals";

interface Parts {
  readonly ctx: Ctx;
  readonly panel: ChatPanel;
  readonly review: ReviewFace;
  readonly terminals: Terminals;
  readonly library: SessionsFace;
  readonly picker: ApprovalPicker;
  readonly keys: Keys;
}

type Run = (argument?: unknown) => unknown;

function addSelection({ panel }: Parts): Promise<void> | undefined {
  const editor = vscode.window.activeTextEditor;
  if (!editor || editor.selection.isEmpty) return undefined;
  panel.attach(selectionOf(editor));
  return panel.focus();
}

/** What was asked first, of what waits. */
async function answer({ ctx }: Parts, how: (item: ApprovalItem) => Promise<void>): Promise<void> {
  const [asked] = pendingApprovals(ctx.sessions.snapshot);
  if (asked) await how(asked);
}

async function restart({ ctx }: Parts): Promise<void> {
  await ctx.client.stop();
  await ctx.sessions.resume();
}

async function newSession({ ctx, panel }: Parts, provider?: string): Promise<void> {
  // The chat also says why there is none.
  await ctx.sessions.create(provider === undefined ? {} : { provider });
  await panel.focus();
}

async function otherSession({ ctx, panel }: Parts): Promise<void> {
  if (await chooseSession(ctx.sessions)) await panel.focus();
}

function table(parts: Parts): Readonly<Record<string, Run>> {
  const { ctx, panel, review, terminals, library, picker, keys } = parts;
  const { sessions } = ctx;
  return {
    open: () => panel.focus(),
    newSession: () => newSession(parts),
    demo: () => newSession(parts, "walkthrough"),
    sessions: () => otherSession(parts),
    stop: () => sessions.interrupt(),
    closeSession: () => sessions.abort(),
    unsteer: () => sessions.unsteer(),
    configure: () => configure(sessions),
    addSelection: () => addSelection(parts),
    approve: () => answer(parts, (item) => picker.send(item, { decision: "allow" })),
    deny: () => answer(parts, (item) => picker.denyWithReason(item)),
    answer: () => answer(parts, (item) => picker.ask(item)),
    ...review.commands,
    ...library.commands,
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
