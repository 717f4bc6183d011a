// Answers the model's code queries with the language servers of this window. Changes no files: a rename returns its
// edits, and the agent-ls server applies them like other edits of the agent.
import * as vscode from "vscode";
import type { ActionEdits, Answerers, ClientRequests, CodeActions, CodeCalls, CodeLocations, CodeSymbols, HoverTexts, RenameEdits } from "../connection/protocol";
import { type Action, type Call, type CallItem, type Hovers, convertActionEdits, convertActions, convertCalls, convertHovers, isForeign } from "./language_details";
import { type Found, type FoundSymbols, convertLocations, convertEdits, convertSymbols } from "./language_model";

type Asked<W extends keyof ClientRequests> = ClientRequests[W]["params"];

/**
 * Opens a document, because language servers answer only for open documents. VS Code closes it again if no tab
 * displays it.
 */
async function documentOf(uri: string): Promise<vscode.TextDocument> {
  return vscode.workspace.openTextDocument(vscode.Uri.parse(uri, true));
}

async function locate({ uri, line, character }: Asked<"definition">): Promise<readonly [vscode.Uri, vscode.Position]> {
  return [(await documentOf(uri)).uri, new vscode.Position(line, character)];
}

async function definition(query: Asked<"definition">): Promise<CodeLocations> {
  return convertLocations(await vscode.commands.executeCommand<Found>("vscode.executeDefinitionProvider", ...await locate(query)));
}

async function references(query: Asked<"references">): Promise<CodeLocations> {
  return convertLocations(await vscode.commands.executeCommand<Found>("vscode.executeReferenceProvider", ...await locate(query)));
}

async function implementations(query: Asked<"implementations">): Promise<CodeLocations> {
  return convertLocations(await vscode.commands.executeCommand<Found>("vscode.executeImplementationProvider", ...await locate(query)));
}

async function hover(query: Asked<"hover">): Promise<HoverTexts> {
  return convertHovers(await vscode.commands.executeCommand<Hovers>("vscode.executeHoverProvider", ...await locate(query)));
}

async function calls(query: Asked<"calls">): Promise<CodeCalls> {
  const items = await vscode.commands.executeCommand<readonly CallItem[] | undefined>("vscode.prepareCallHierarchy", ...await locate(query));
  const command = query.direction === "incoming" ? "vscode.provideIncomingCalls" : "vscode.provideOutgoingCalls";
  const found = await Promise.all((items ?? []).map((item) => vscode.commands.executeCommand<readonly Call[] | undefined>(command, item)));
  return convertCalls(found.flatMap((some) => some ?? []));
}

/** Lists the code actions of a range. The first `resolved` ones have their edits. */
async function findActions({ uri, startLine, startCharacter, endLine, endCharacter }: Asked<"actions">, resolved = 0): Promise<readonly Action[]> {
  const range = new vscode.Range(startLine, startCharacter, endLine, endCharacter);
  const document = await documentOf(uri);
  return await vscode.commands.executeCommand<readonly Action[] | undefined>("vscode.executeCodeActionProvider", document.uri, range, undefined, resolved) ?? [];
}

async function actions(query: Asked<"actions">): Promise<CodeActions> {
  return convertActions(await findActions(query));
}

async function actionEdits(query: Asked<"actionEdits">): Promise<ActionEdits> {
  const isAsked = (action: Action) => action.title === query.title && action.disabled === undefined && isForeign(action);
  const place = (await findActions(query)).findIndex(isAsked);
  if (place === -1) throw new Error("the editor no longer offers this action");
  const before = versions();
  const action = (await findActions(query, place + 1)).find(isAsked);
  if (action === undefined) throw new Error("the editor no longer offers this action");
  const now = versions();
  return convertActionEdits(action, (uri) => before.get(uri) ?? now.get(uri));
}

async function outline(query: Asked<"symbols">): Promise<CodeSymbols> {
  if (query.uri === undefined) {
    return convertSymbols(await vscode.commands.executeCommand<FoundSymbols>("vscode.executeWorkspaceSymbolProvider", query.query ?? ""));
  }
  const { uri } = await documentOf(query.uri);
  return convertSymbols(await vscode.commands.executeCommand<FoundSymbols>("vscode.executeDocumentSymbolProvider", uri), uri.toString());
}

function versions(): Map<string, number> {
  return new Map(vscode.workspace.textDocuments.map(({ uri, version }) => [uri.toString(), version]));
}

async function rename(query: Asked<"rename">): Promise<RenameEdits> {
  const place = await locate(query);
  const before = versions();
  const edit = await vscode.commands.executeCommand<vscode.WorkspaceEdit | undefined>(
    "vscode.executeDocumentRenameProvider", ...place, query.newName,
  );
  // A document that was opened during the request has no version from before the request, so use its current version.
  const now = versions();
  return convertEdits(edit, (uri) => before.get(uri) ?? now.get(uri));
}

export const languageAnswerers = { definition, references, symbols: outline, rename, implementations, hover, calls, actions, actionEdits } satisfies Partial<Answerers>;
