// The settings section `agentLs`: defaults of new sessions, and the settings of the server.
import * as vscode from "vscode";
import { type Notify, parseNotify } from "../status/attention";
import type { Configuration, Mode, ReviewMode } from "../connection/protocol";

export const SECTION = "agentLs";

/**
 * Settings of the server (docs/configuration.md). At its start it gets those that the user has set; when it asks
 * (workspace/configuration), it gets all values.
 */
export const SERVER_SETTINGS = [
  "provider", "model", "models", "effort", "mode", "review", "userInstructions", "maxTurns", "maxToolRoundsPerInput", "defaultCommandTimeoutMs",
  "maxCommandTimeoutMs", "maxBackgroundProcesses", "maxReadMebibytes", "toolOutputLimits", "toolLineLimits", "loopDetection",
  "subagents", "retry", "skills", "hooks", "terminal", "approvalTimeoutMs", "save", "diagnosticsWaitMs", "edits", "limits", "sessions", "record", "logLevel",
  "nativeToolNames", "thinkTool", "submitTool", "webFetch", "webSearch", "suggestions", "panel", "toolPacks", "context", "commandEnvironment", "sandbox", "paths",
  "unconfinedCommands", "providers", "mcp",
] as const;

function section(): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration(SECTION);
}

/** The value that the user has set; undefined if none. */
export function readUserValue(name: string): unknown {
  // All have machine scope, so a workspace cannot set them.
  const value = section().inspect(name)?.globalValue;
  return value === "" ? undefined : value;
}

/** The configuration of new sessions; for settings without a user value the server chooses. */
export function readConfiguration(): Configuration {
  const [provider, model, effort, mode, review] = ["provider", "model", "effort", "mode", "review"].map(readUserValue);
  return {
    ...(typeof provider === "string" && { provider }),
    ...(typeof model === "string" && { model }),
    ...(typeof effort === "string" && { effort }),
    ...(typeof mode === "string" && { mode: mode as Mode }),
    ...(typeof review === "string" && { review: review as ReviewMode }),
  };
}

export function readServerSettings(): Record<string, unknown> {
  const set = SERVER_SETTINGS.map((name) => [name, readUserValue(name)] as const);
  return Object.fromEntries(set.filter(([, value]) => value !== undefined));
}

/**
 * All current values including defaults: a setting that the user has removed must not keep the value sent at the start.
 */
export function readAllSettings(): Record<string, unknown> {
  const all = section();
  return Object.fromEntries(SERVER_SETTINGS.map((name) => {
    const found = all.inspect(name);
    return [name, found?.globalValue ?? found?.defaultValue];
  }));
}

export function notify(): Notify {
  return parseNotify(section().get("notify"));
}

export function isCodeLensEnabled(): boolean {
  return section().get("codeLens", true);
}
