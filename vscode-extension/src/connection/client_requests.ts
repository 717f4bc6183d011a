// Performs the server's `client_request` events; each gets exactly one answer.
import * as vscode from "vscode";
import type { Client } from "./client";
import type { DiagnosticsReporter } from "../context/diagnostics";
import { languageAnswerers } from "../context/language";
import { editNotebook } from "../context/notebooks";
import { type AgentEvent, type Answerers, type ClientRequest, type ClientRequests, type NamedDocument, type Saved, problemOf } from "./protocol";
import { type Log, inBackground } from "../logger";
import type { HostTerminals } from "../terminals/host";

const hasUri = (document: { readonly uri: vscode.Uri }, uri: string) => document.uri.toString() === vscode.Uri.parse(uri).toString();

/**
 * Whether the server has received all unsaved changes of a document. Only then may the document be saved. For a
 * notebook, compares the versions of its cells, because the notebook's own version may differ from the synced
 * version.
 */
function hasNamedVersions(document: vscode.TextDocument | vscode.NotebookDocument, { version, cells = [] }: NamedDocument): boolean {
  if (!("notebookType" in document)) return version === document.version;
  const shown = document.getCells().map((cell) => cell.document);
  return shown.length === cells.length && cells.every((cell, i) => shown[i] !== undefined && hasUri(shown[i], cell.uri) && shown[i].version === cell.version);
}

/** Saves a document. Returns why it could not be saved, undefined on success. */
async function saveOne(named: NamedDocument): Promise<string | undefined> {
  const { textDocuments, notebookDocuments } = vscode.workspace;
  const [document, other] = [...textDocuments, ...notebookDocuments].filter((each) => hasUri(each, named.uri));
  if (!document) return "the document is not open in the editor";
  if (other) return "the document is open both as a notebook and as text"; // saving one document would overwrite the changes of the other
  if (!hasNamedVersions(document, named)) return "the document was changed in the meantime";
  if (!document.isDirty || (await document.save())) return undefined;
  return "the editor did not save the document";
}

async function save({ documents }: ClientRequests["save"]["params"]): Promise<Saved> {
  const failed: { uri: string; reason: string }[] = [];
  const saved: string[] = [];
  await Promise.all(documents.map(async (document) => {
    const reason = await saveOne(document);
    if (reason === undefined) saved.push(document.uri);
    else failed.push({ uri: document.uri, reason });
  }));
  return { saved, failed };
}

/** Parts of the extension that answer requests of the server. */
export interface ClientServices {
  readonly terminals: HostTerminals;
  readonly problems: DiagnosticsReporter;
}

function answerersOf({ terminals, problems }: ClientServices): Answerers {
  return {
    ...languageAnswerers,
    diagnostics: async ({ uri }) => ({ files: await problems.collectReports(uri === undefined ? undefined : vscode.Uri.parse(uri, true)) }),
    save,
    checkTime: () => ({}), // VS Code watches displayed files and reloads them by itself
    editNotebook,
    terminalOpen: (opening) => terminals.open(opening),
    terminalRuns: (running) => terminals.recordRun(running),
  };
}

function answererOf(what: string, faces: ClientServices): ((params: object) => object | Promise<object>) | undefined {
  const all = answerersOf(faces);
  return Object.hasOwn(all, what) ? all[what as keyof Answerers] as (params: object) => object | Promise<object> : undefined;
}

async function answer(client: Client, event: AgentEvent, faces: ClientServices): Promise<void> {
  const { requestId, what, params } = event.data as ClientRequest;
  const answerer = answererOf(what, faces);
  const reply = { sessionId: event.sessionId, requestId };
  if (!answerer) {
    await client.request("agent/clientAnswer", { ...reply, error: `this editor does not support the request ${what}` });
    return;
  }
  let outcome: { result: object } | { error: string };
  try {
    outcome = { result: await answerer(params) };
  } catch (error) {
    outcome = { error: problemOf(error).message };
  }
  await client.request("agent/clientAnswer", { ...reply, ...outcome });
}

export function answerClientRequest(client: Client, log: Log, event: AgentEvent, faces: ClientServices): void {
  // The server refuses late and second answers; that is logged and not shown to the user.
  inBackground(log, answer(client, event, faces));
}
