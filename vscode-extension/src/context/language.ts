// Answers the model's code queries with the language servers of this window. Changes no files: a rename returns its
// edits, and the agent-ls server applies them like other edits of the agent.
import * as vscode from "vscode";
import type { Answerers, ClientRequests, CodeLocations, CodeSymbols, RenameEdits } from "../connection/protocol";
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

export const languageAnswerers = { definition, references, symbols: outline, rename } satisfies Partial<Answerers>;
