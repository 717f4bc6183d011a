// The settings section `agentLs`: what new sessions start with, and what the server is given.
import * as vscode from "vscode";
import { type Notify, notifyOf } from "./attention";
import type { Configuration, Mode, ReviewMode } from "./protocol";

export const SECTION = "agentLs";

/** The server's own (docs/configuration.md). Given to it as it starts, where the user has set them, and whole when it asks. */
export const SERVER_SETTINGS = [
  "provider", "model", "effort", "mode", "review", "userInstructions", "maxTurns", "maxToolRoundsPerInput", "defaultCommandTimeoutMs",
  "maxCommandTimeoutMs", "terminal", "approvalTimeoutMs", "save", "diagnosticsWaitMs", "edits", "limits", "sessions", "record", "logLevel",
  "nativeToolNames", "thinkTool", "submitTool", "webFetch", "webSearch", "context", "commandEnvironment", "sandbox", "providers",
] as const;

function section(): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration(SECTION);
}

/** What the user set; undefined: left alone. */
export function chosen(name: string): unknown {
  // All of them have machine scope: a workspace cannot set them, whatever its settings say.
  const value = section().inspect(name)?.globalValue;
  return value === "" ? undefined : value;
}

/** What new sessions are made with; what the user left alone is the server's choice. */
export function configuration(): Configuration {
  const [provider, model, effort, mode, review] = ["provider", "model", "effort", "mode", "review"].map(chosen);
  return {
    ...(typeof provider === "string" && { provider }),
    ...(typeof model === "string" && { model }),
    ...(typeof effort === "string" && { effort }),
    ...(typeof mode === "string" && { mode: mode as Mode }),
    ...(typeof review === "string" && { review: review as ReviewMode }),
  };
}

export function serverSettings(): Record<string, unknown> {
  const set = SERVER_SETTINGS.map((name) => [name, chosen(name)] as const);
  return Object.fromEntries(set.filter(([, value]) => value !== undefined));
}

/** As they are now, defaults too: one that the user has taken back must not go on as it was when the server started. */
export function settingsNow(): Record<string, unknown> {
  const all = section();
  return Object.fromEntries(SERVER_SETTINGS.map((name) => {
    const found = all.inspect(name);
    return [name, found?.globalValue ?? found?.defaultValue];
  }));
}

export function notify(): Notify {
  return notifyOf(section().get("notify"));
}

export function showsCodeLens(): boolean {
  return section().get("codeLens", true);
}
