// What the server asks of this window by a `client_request` event, and the one answer that each gets.
import * as vscode from "vscode";
import type { Client } from "./client";
import type { DiagnosticsReporter } from "./context/diagnostics";
import { languageAnswerers } from "./context/language";
import { editNotebook } from "./context/notebooks";
import type { ClientRequest } from "./events";
import { type Log, inBackground } from "./logger";
import { type AgentEvent, problemOf } from "./protocol";
import type { CodeQuery } from "./protocol_language";
import type { HostTerminals } from "./terminals/host";

type Answerer = (params: unknown) => object | Promise<object>;

interface NamedDocument {
  readonly uri: string;
  readonly version?: number;
}

function openDocument(uri: string): vscode.TextDocument | undefined {
  const wanted = vscode.Uri.parse(uri).toString();
  return vscode.workspace.textDocuments.find((document) => document.uri.toString() === wanted);
}

/** Why it could not be saved; undefined when it is. A document is saved only while it has the version named: then
 * its unsaved changes are those that the server knows of. */
async function saveOne({ uri, version }: NamedDocument): Promise<string | undefined> {
  const document = openDocument(uri);
  if (!document) return "not open";
  if (version !== undefined && version !== document.version) return "changed meanwhile";
  if (!document.isDirty || (await document.save())) return undefined;
  return "the editor did not save it";
}

const save: Answerer = async (params) => {
  const { documents = [] } = params as { documents?: readonly NamedDocument[] };
  const reasons = await Promise.all(documents.map(saveOne));
  const each = documents.map(({ uri }, i) => ({ uri, reason: reasons[i] }));
  return {
    saved: each.filter(({ reason }) => reason === undefined).map(({ uri }) => uri),
    failed: each.filter(({ reason }) => reason !== undefined),
  };
};

/** The workbench watches the files that it shows and reads them anew by itself. */
const checkTime: Answerer = () => ({});

/** What answers besides the editor itself. */
export interface Faces {
  readonly terminals: HostTerminals;
  readonly problems: DiagnosticsReporter;
}

async function diagnostics({ uri }: CodeQuery["diagnostics"], problems: DiagnosticsReporter): Promise<object> {
  return { files: await problems.reports(uri === undefined ? undefined : vscode.Uri.parse(uri, true)) };
}

function answererOf(what: string, { terminals, problems }: Faces): Answerer | undefined {
  switch (what) {
    case "definition": return (params) => languageAnswerers.definition(params as CodeQuery["definition"]);
    case "references": return (params) => languageAnswerers.references(params as CodeQuery["references"]);
    case "symbols": return (params) => languageAnswerers.symbols(params as CodeQuery["symbols"]);
    case "rename": return (params) => languageAnswerers.rename(params as CodeQuery["rename"]);
    case "diagnostics": return (params) => diagnostics(params as CodeQuery["diagnostics"], problems);
    case "save": return save;
    case "checkTime": return checkTime;
    case "editNotebook": return editNotebook;
    case "terminalOpen": return (params) => terminals.open(params as Parameters<HostTerminals["open"]>[0]);
    case "terminalRuns": return (params) => terminals.runs(params as Parameters<HostTerminals["runs"]>[0]);
    default: return undefined;
  }
}

async function answer(client: Client, event: AgentEvent, faces: Faces): Promise<void> {
  const { requestId, what, params } = event.data as ClientRequest;
  const answerer = answererOf(what, faces);
  const reply = { sessionId: event.sessionId, requestId };
  if (!answerer) {
    await client.request("agent/clientAnswer", { ...reply, error: `this editor cannot do ${what}` });
    return;
  }
  let outcome: { result: object } | { error: string };
  try {
    outcome = { result: await answerer(params ?? {}) };
  } catch (error) {
    outcome = { error: problemOf(error).message };
  }
  await client.request("agent/clientAnswer", { ...reply, ...outcome });
}

export function answerClientRequest(client: Client, log: Log, event: AgentEvent, faces: Faces): void {
  // Late and second answers are refused by the server: that is for the log, not for the user.
  inBackground(log, answer(client, event, faces));
}
