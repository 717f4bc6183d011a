// Services that all parts of the extension share.
import type * as vscode from "vscode";
import type { Client } from "./connection/client";
import type { Log } from "./logger";
import type { Sessions } from "./sessions/session";

export interface Ctx {
  readonly extension: vscode.ExtensionContext;
  readonly log: Log;
  readonly client: Client;
  readonly sessions: Sessions;
}
