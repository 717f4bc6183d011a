// The settings section `agentLs`: what new sessions start with, what the server is given, and how it is started.
import { constants, accessSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import * as vscode from "vscode";
import type { Configuration, Mode, Problem } from "./protocol";

export const SECTION = "agentLs";

/** Given to the server as it starts (docs/configuration.md), where the user has set them. */
const SERVER_SETTINGS = [
  "provider", "model", "effort", "mode", "userInstructions", "maxTurns", "maxToolRoundsPerInput",
  "defaultCommandTimeoutMs", "maxCommandTimeoutMs", "providers",
] as const;

function section(): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration(SECTION);
}

function chosen(name: string): unknown {
  // All of them have machine scope: a workspace cannot set them, whatever its settings say.
  const value = section().inspect(name)?.globalValue;
  return value === "" ? undefined : value;
}

/** What new sessions are made with; what the user left alone is the server's choice. */
export function configuration(): Configuration {
  const [provider, model, effort, mode] = ["provider", "model", "effort", "mode"].map(chosen);
  return {
    ...(typeof provider === "string" && { provider }),
    ...(typeof model === "string" && { model }),
    ...(typeof effort === "string" && { effort }),
    ...(typeof mode === "string" && { mode: mode as Mode }),
  };
}

export function serverSettings(): Record<string, unknown> {
  const set = SERVER_SETTINGS.map((name) => [name, chosen(name)] as const);
  return Object.fromEntries(set.filter(([, value]) => value !== undefined));
}

export function notifies(): boolean {
  return section().get("notify", true);
}

export function showsCodeLens(): boolean {
  return section().get("codeLens", true);
}

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
}

const SERVE = ["serve", "--stdio"] as const;
const HINT = "Install agent-ls, or set agentLs.command in your settings to the program and its arguments.";

/** The program that serves: as set, else next to this extension's checkout, else on PATH. Never from the workspace. */
export function findCommand(extensionPath: string): Command | Problem {
  const [program, ...args] = section().inspect<string[]>("command")?.globalValue ?? [];
  if (program !== undefined && program !== "") {
    const found = isAbsolute(program) ? executable(program) : onPath(program);
    if (found === undefined) return { message: `The program ${program} of the setting agentLs.command was not found.`, hint: HINT };
    return { program: found, args: args.length > 0 ? args : SERVE };
  }
  const [folder, suffix] = process.platform === "win32" ? ["Scripts", ".exe"] : ["bin", ""];
  const found = executable(join(extensionPath, "..", ".venv", folder, `agent-ls${suffix}`)) ?? onPath("agent-ls");
  if (found === undefined) return { message: "The program agent-ls was not found.", hint: HINT };
  return { program: found, args: SERVE };
}

function executable(path: string): string | undefined {
  try {
    accessSync(path, constants.X_OK);
    return path;
  } catch {
    return undefined;
  }
}

/** Looked up by us: systems that also look in the working folder would run what a repository put there. */
function onPath(name: string): string | undefined {
  const suffixes = process.platform === "win32" ? [".exe"] : [""];
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter(isAbsolute);
  for (const folder of folders) {
    for (const suffix of suffixes) {
      const found = executable(join(folder, name.endsWith(suffix) ? name : name + suffix));
      if (found !== undefined) return found;
    }
  }
  return undefined;
}
