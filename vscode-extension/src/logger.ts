// One log channel for all of the extension; it is shown only when the user asks for it.
import * as vscode from "vscode";
import { problemOf } from "./protocol";

export type Log = vscode.LogOutputChannel;

export function makeLog(): Log {
  return vscode.window.createOutputChannel("agent-ls", { log: true });
}

/** For work that nobody waits for: its failure is in the log at least. */
export function inBackground(log: Log, work: Promise<unknown> | Thenable<unknown>): void {
  Promise.resolve(work).catch((error: unknown) => {
    log.error(error instanceof Error ? error : problemOf(error).message);
  });
}
