// The settings section `agentLs`: defaults of new sessions, and the settings of the server.
import * as vscode from "vscode";
import { type Notify, parseNotify } from "../status/attention";
import type { Configuration, Mode, ReviewMode } from "../connection/protocol";

export const SECTION = "agentLs";

/**
 * Settings of the server (docs/configuration.md). At startup, the server gets only those that the user has set;
 * on request (workspace/configuration), it gets all.
 */
export const SERVER_SETTINGS = [
  "provider", "model", "models", "effort", "mode", "review", "userInstructions", "maxTurns", "maxToolRoundsPerInput", "defaultCommandTimeoutMs",
  "maxCommandTimeoutMs", "maxBackgroundProcesses", "maxReadMebibytes", "toolOutputLimits", "toolLineLimits", "loopDetection",
  "subagents", "retry", "skills", "hooks", "checks", "terminal", "approvalTimeoutMs", "save", "diagnosticsWaitMs", "edits", "limits", "sessions", "record", "logLevel",
  "nativeToolNames", "thinkTool", "submitTool", "webFetch", "webSearch", "suggestions", "panel", "toolPacks", "context", "commandEnvironment", "sandbox", "paths",
  "unconfinedCommands", "providers", "mcp",
] as const;

function section(): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration(SECTION);
}

/** Returns the value that the user has set; undefined if they have set none. */
export function readUserValue(name: string): unknown {
  // All settings have machine scope, so a workspace cannot set them.
  const value = section().inspect(name)?.globalValue;
  return value === "" ? undefined : value;
}

/** Returns the configuration for new sessions. The server chooses the values that the user has not set. */
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
 * Returns all current values including defaults, so that a setting that the user has removed returns to its default.
 */
export function readAllSettings(): Record<string, unknown> {
  const all = section();
  return Object.fromEntries(SERVER_SETTINGS.map((name) => {
    const found = all.inspect(name);
    return [name, found?.globalValue ?? found?.defaultValue];
  }));
}

export function readNotify(): Notify {
  return parseNotify(section().get("notify"));
}

export function isCodeLensEnabled(): boolean {
  return section().get("codeLens", true);
}
