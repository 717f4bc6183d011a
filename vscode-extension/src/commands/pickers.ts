// Lists to choose from: sessions, and the model, effort and mode of the current session.
import * as vscode from "vscode";
import { MODES, MODE_WORDS, type ReviewMode, type SessionInfo } from "../connection/protocol";
import type { Sessions } from "../sessions/session";
import { runningRow } from "../sessions/rows";

const MODE_ROWS = MODES.map((mode) => ({ label: mode, description: MODE_WORDS[mode] }));

const REVIEWS: readonly { readonly label: ReviewMode; readonly description: string }[] = [
  { label: "after", description: "edits are made in your files, and you keep or undo each edit afterwards" },
  { label: "before", description: "changes are proposed, and made when you accept them" },
];

function sessionItem(info: SessionInfo, currentId: string | undefined) {
  const doing = info.live ? info.state.toLowerCase().replaceAll("_", " ") : "stored";
  const when = new Date(info.updated).toLocaleString();
  const icon = info.access === "readOnly" ? "$(lock)" : info.id === currentId ? "$(circle-filled)" : info.live ? "$(circle-outline)" : "$(history)";
  return {
    label: `${icon} ${info.title === "" ? "(no title)" : info.title}`,
    description: [info.isWalkthrough ? "walkthrough" : info.model, doing].join(" · "),
    detail: when,
    info,
  };
}

export async function chooseSession(sessions: Sessions): Promise<boolean> {
  const listed = await sessions.listSessions();
  if (!listed) return false;
  const items = listed.map((info) => sessionItem(info, sessions.currentId));
  const placeHolder = items.length > 0 ? "Choose a session to continue" : "There is no session for this folder yet";
  const chosen = await vscode.window.showQuickPick(items, { placeHolder, matchOnDescription: true });
  return chosen !== undefined && sessions.open(chosen.info.id);
}

/** Lets the user choose among the sessions that run in any editor, and opens it. Returns whether one was opened. */
export async function chooseRunning(sessions: Sessions): Promise<boolean> {
  const listed = await sessions.listRunningSessions();
  if (!listed) return false;
  const items = listed.map((info) => ({ ...runningRow(info, Date.now()), info }));
  const placeHolder = items.length > 0 ? "Choose a session to open" : "No session is open in any editor";
  const chosen = await vscode.window.showQuickPick(items, { placeHolder, matchOnDescription: true, matchOnDetail: true });
  return chosen !== undefined && sessions.open(chosen.info.id);
}

/**
 * Lets the user choose the folder of a new session; the folder of the active file is listed first. Returns null if
 * there is no choice because only one folder is open, and undefined if the user cancelled.
 */
export async function chooseFolder(): Promise<string | null | undefined> {
  const folders = (vscode.workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === "file");
  if (folders.length < 2) return null;
  const active = vscode.window.activeTextEditor?.document.uri;
  const own = active && vscode.workspace.getWorkspaceFolder(active);
  const inOrder = [...folders].sort((a, b) => Number(b === own) - Number(a === own));
  const items = inOrder.map((folder) => ({ label: `$(folder) ${folder.name}`, description: folder.uri.fsPath, folder }));
  const chosen = await vscode.window.showQuickPick(items, { placeHolder: "In which folder should the session work?" });
  return chosen?.folder.uri.toString();
}

async function chooseMode(sessions: Sessions): Promise<void> {
  const chosen = await vscode.window.showQuickPick(MODE_ROWS, { placeHolder: "Which actions of the agent need no approval?" });
  if (chosen) await sessions.configure({ mode: chosen.label });
}

async function chooseReview(sessions: Sessions): Promise<void> {
  const chosen = await vscode.window.showQuickPick(REVIEWS, { placeHolder: "When do you review the agent's changes?" });
  if (chosen) await sessions.configure({ review: chosen.label });
}

async function typeIn(sessions: Sessions, name: "model" | "effort" | "provider", prompt: string): Promise<void> {
  const value = await vscode.window.showInputBox({ prompt, value: sessions.snapshot.session[name] ?? "" });
  if (value !== undefined && value !== "") await sessions.configure({ [name]: value });
}

export async function configure(sessions: Sessions): Promise<void> {
  const { session } = sessions.snapshot;
  const chosen = await vscode.window.showQuickPick(
    [
      { label: "Model", description: session.model ?? "", run: () => typeIn(sessions, "model", "The name of a model of the provider") },
      { label: "Effort", description: session.effort ?? "the model's default", run: () => typeIn(sessions, "effort", "Reasoning effort: low, medium, high, or another value of the provider") },
      { label: "Mode", description: session.mode ?? "", run: () => chooseMode(sessions) },
      { label: "Review", description: session.review ?? "after", run: () => chooseReview(sessions) },
      { label: "Provider", description: session.provider ?? "", run: () => typeIn(sessions, "provider", "anthropic, openai, gemini, ollama, or another that the server knows") },
    ],
    { placeHolder: "Change for this session" },
  );
  await chosen?.run();
}
