// Performs the actions of the chat page that need VS Code.
import * as vscode from "vscode";
import type { ReviewActions } from "../review/actions";
import type { Sessions } from "../sessions/session";
import { rollBack } from "../sessions/rollback";
import { showServers } from "../sessions/servers";
import type { Terminals } from "../terminals/terminals";
import type { HostCommand } from "../webview/messages";
import type { HomePage } from "./home";
import type { HostAction, PageHost } from "./inbox";
import { insertAtCursor } from "./insert";
import { openFile, openLink } from "./links";
import type { Offers } from "./offers";

const COMMANDS: Record<HostCommand, string> = {
  newSession: "agentLs.newSession",
  sessions: "agentLs.sessions",
  demo: "agentLs.demo",
  configure: "agentLs.configure",
  nextHunk: "agentLs.nextHunk",
  previousHunk: "agentLs.previousHunk",
  reviewAll: "agentLs.compareAll",
  guidedReview: "agentLs.guidedReview",
  keepAll: "agentLs.keepAll",
  undoAll: "agentLs.undoAll",
  compact: "agentLs.compact",
  takeOver: "agentLs.takeOver",
  plan: "agentLs.plan",
};

const ACTS: Readonly<Record<HostAction, readonly [string, ...unknown[]]>> = {
  setKey: ["agentLs.setApiKey"],
  manageTrust: ["workbench.trust.manage"],
  choosePython: ["workbench.action.openSettings", "agentLs.python"],
  showLog: ["agentLs.showLog"],
};

interface Parts {
  readonly sessions: Sessions;
  readonly review: ReviewActions;
  readonly terminals: Terminals;
  readonly offers: Offers;
  readonly home: HomePage;
  readonly share: (isShared: boolean) => void;
}

export function editorHost({ sessions, review, terminals, offers, home, share }: Parts): PageHost {
  return {
    shareActiveFile: share,
    runCommand: async (name) => { await vscode.commands.executeCommand(COMMANDS[name]); },
    act: async (action) => { await vscode.commands.executeCommand(...ACTS[action]); },
    findOffers: (trigger, query) => offers.offers(trigger, query),
    choose: (token) => offers.choose(token),
    collectHome: () => home.collectHome(),
    openSession: (id) => home.open(id),
    insert: insertAtCursor,
    askLine: async (title) => (await vscode.window.showInputBox({ title, ignoreFocusOut: true })) ?? "",
    judge: (hunkIds, verdict) => review.judge(hunkIds, verdict),
    compare: async (hunkId) => { await vscode.commands.executeCommand("agentLs.compareHunk", hunkId); },
    openFile: (target) => openFile(target, sessions.snapshot.session.workspaceFolder),
    openLink,
    showTerminal: (callId) => { terminals.show(callId); },
    kill: (terminalId) => terminals.kill(terminalId),
    showServers: () => showServers(sessions),
    openMemory: async () => { await vscode.commands.executeCommand("agentLs.memory"); },
    rollBack: (turnId) => rollBack(sessions, turnId),
  };
}
