// The extension's log channel, shown only when the user asks for it.
import * as vscode from "vscode";
import { problemOf } from "./connection/protocol";

export type Log = vscode.LogOutputChannel;

export function makeLog(): Log {
  return vscode.window.createOutputChannel("agent-ls", { log: true });
}

/** Runs work that nobody awaits; failures are logged. */
export function inBackground(log: Log, work: Promise<unknown> | Thenable<unknown>): void {
  Promise.resolve(work).catch((error: unknown) => {
    log.error(error instanceof Error ? error : problemOf(error).message);
  });
}
