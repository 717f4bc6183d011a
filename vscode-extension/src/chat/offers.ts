// Completions for `@` and `/` in the prompt, from this editor and from the server.
import * as vscode from "vscode";
import { type CommandInfo, type InputPart, MODE_WORDS, MODES } from "../connection/protocol";
import type { TerminalTexts } from "../context/terminal_text";
import type { Sessions } from "../sessions/session";
import type { Attachment, Offer } from "../webview/messages";
import type { Catalog } from "./catalog";
import { mentionIcon, mentionsOf, OfferedValues, terminalLabel, terminalPart } from "./mention_offers";
import { CLIENT_COMMANDS, isClientCommand } from "./slash";

const LIMIT = 30;
const MAX_SYMBOLS = 8;
const MAX_OPEN = 8;

type Bring = () => Promise<Attachment | undefined>;

interface Found {
  readonly offer: Omit<Offer, "token" | "runs" | "insert">;
  readonly bring: Bring;
}

export function selectionOf(editor: vscode.TextEditor): Attachment {
  const { document, selection } = editor;
  const endsAtLineStart = selection.end.character === 0 && !selection.isEmpty;
  return linesOf(document, selection.start.line, endsAtLineStart ? selection.end.line : selection.end.line + 1);
}

function linesOf(document: vscode.TextDocument, startLine: number, endLine: number): Attachment {
  // Use whole lines, because the model refers to code by lines.
  const text = document.getText(new vscode.Range(startLine, 0, endLine, 0));
  const label = `${vscode.workspace.asRelativePath(document.uri)}:${startLine + 1}-${endLine}`;
  return { label, part: { type: "selection", uri: document.uri.toString(), startLine, endLine, text } };
}

function offerPart(offer: Found["offer"], part: InputPart): Found {
  return { offer, bring: () => Promise.resolve({ label: offer.label, part }) };
}

function editorOffers(): Found[] {
  const editor = vscode.window.activeTextEditor;
  const found: Found[] = [];
  if (editor && !editor.selection.isEmpty && editor.document.uri.scheme === "file") {
    const selected = selectionOf(editor);
    found.push({ offer: { icon: "selection", label: "selection", detail: selected.label }, bring: () => Promise.resolve(selected) });
  }
  const uri = editor?.document.uri;
  const here = uri ? vscode.languages.getDiagnostics(uri).length : 0;
  if (uri && here > 0) {
    const name = vscode.workspace.asRelativePath(uri);
    found.push(offerPart({ icon: "warning", label: "problems-here", detail: `${here} in ${name}` }, { type: "diagnostics", uri: uri.toString() }));
  }
  const all = vscode.languages.getDiagnostics().reduce((sum, [, each]) => sum + each.length, 0);
  if (all > 0) found.push(offerPart({ icon: "warning", label: "problems", detail: `${all} in all files` }, { type: "diagnostics" }));
  return found;
}

function listOpenFiles(): Found[] {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  const uris = tabs.flatMap(({ input }) => (input instanceof vscode.TabInputText && input.uri.scheme === "file" ? [input.uri] : []));
  const unique = [...new Map(uris.map((uri) => [uri.toString(), uri])).values()];
  return unique.map((uri) => offerPart({ icon: "file", label: vscode.workspace.asRelativePath(uri), detail: "open" }, { type: "file", uri: uri.toString() }));
}

async function findSymbols(query: string): Promise<Found[]> {
  if (query.length < 2) return [];
  const all = await vscode.commands.executeCommand<vscode.SymbolInformation[] | undefined>("vscode.executeWorkspaceSymbolProvider", query);
  const ours = (all ?? []).filter(({ location }) => location.uri.scheme === "file" && vscode.workspace.getWorkspaceFolder(location.uri));
  return ours.slice(0, MAX_SYMBOLS).map(({ name, location }) => ({
    offer: { icon: "symbol-method", label: name, detail: `${vscode.workspace.asRelativePath(location.uri)}:${location.range.start.line + 1}` },
    bring: async () => {
      const document = await vscode.workspace.openTextDocument(location.uri);
      const { start, end } = location.range;
      return { ...linesOf(document, start.line, end.line + 1), label: name };
    },
  }));
}

/** Finds files by name. Used if the server does not support completion. */
async function findFiles(query: string): Promise<Found[]> {
  const name = query.replace(/[^\w./-]/g, "");
  if (name === "") return [];
  const uris = await vscode.workspace.findFiles(`**/*${name}*`, undefined, LIMIT);
  return uris.map((uri) => offerPart({ icon: "file", label: vscode.workspace.asRelativePath(uri), detail: "" }, { type: "file", uri: uri.toString() }));
}

export class Offers {
  private readonly brings = new OfferedValues<Bring>();

  constructor(
    private readonly sessions: Sessions,
    private readonly catalog: Catalog,
    private readonly terminals: Pick<TerminalTexts, "readAll">,
    private readonly folder: () => string | undefined,
  ) {}

  async offers(trigger: "@" | "/", query: string): Promise<Offer[]> {
    return trigger === "/" ? this.commands(query) : this.findMentions(query);
  }

  /** Returns the attachment for a completion; undefined if its list is too old. */
  async choose(token: string): Promise<Attachment | undefined> {
    return this.brings.get(token)?.();
  }

  private async findMentions(query: string): Promise<Offer[]> {
    const wanted = query.toLowerCase();
    const fits = ({ offer }: Found) => offer.label.toLowerCase().includes(wanted);
    const [fromServer, named] = await Promise.all([this.completeOnServer(query), findSymbols(query.replace(/^symbol:/, "")).catch(() => [])]);
    // If a session is open, the server's completions already contain the symbols of this window's language servers.
    const others = fromServer.some(({ offer }) => offer.label.startsWith("symbol:")) ? [] : named;
    const seen = new Set<string>();
    const chosen = [...editorOffers().filter(fits), ...listOpenFiles().filter(fits).slice(0, MAX_OPEN), ...this.terminal().filter(fits), ...fromServer, ...others];
    const unique = chosen.filter(({ offer }) => !seen.has(offer.label) && seen.add(offer.label));
    const listed = unique.slice(0, LIMIT + MAX_SYMBOLS);
    const tokens = this.brings.add(listed.map(({ bring }) => bring));
    return listed.map(({ offer }, i) => ({ ...offer, insert: `@${offer.label} `, token: tokens[i] ?? "", runs: false }));
  }

  /** Offers the active terminal. Its text is read only when the user chooses it. */
  private terminal(): Found[] {
    const name = vscode.window.activeTerminal?.name;
    if (name === undefined) return [];
    const label = terminalLabel(name);
    const bring = async () => ({ label, part: terminalPart(name, await this.terminals.readAll()) });
    return [{ offer: { icon: mentionIcon("terminal"), label, detail: "the text of the active terminal" }, bring }];
  }

  private async completeOnServer(query: string): Promise<Found[]> {
    const { currentId: sessionId } = this.sessions;
    const workspaceFolder = this.folder();
    const answer = await this.sessions.requestIfSupported("agent/complete", {
      trigger: "@", query, limit: LIMIT,
      ...(sessionId !== undefined && { sessionId }), ...(workspaceFolder !== undefined && { workspaceFolder }),
    });
    if (!answer) return findFiles(query);
    return mentionsOf(answer.items).map(({ kind, label, detail, part }) => offerPart({ icon: mentionIcon(kind), label, detail: detail ?? "" }, part));
  }

  private async commands(query: string): Promise<Offer[]> {
    const known: readonly CommandInfo[] = (await this.catalog.commands()).filter(({ name }) => !isClientCommand(name));
    const offer = (words: string, detail: string, runs: boolean): Offer => ({ icon: runs ? "play" : "terminal", label: `/${words}`, detail, insert: `/${words}${runs ? "" : " "}`, token: null, runs });
    const theirs = known.map(({ name, description, argumentHint }) => offer(name, [argumentHint ?? "", description].filter((word) => word !== "").join(" — "), false));
    const ours = Object.entries(CLIENT_COMMANDS).flatMap(([name, { description }]) =>
      name === "mode" ? MODES.map((mode) => offer(`mode ${mode}`, MODE_WORDS[mode], true)) : [offer(name, description, true)]);
    const wanted = query.toLowerCase();
    const all = [...theirs, ...ours].filter(({ label, detail }) => label.includes(wanted) || (wanted.length > 2 && detail.toLowerCase().includes(wanted)));
    return all.sort((a, b) => Number(b.label.startsWith(`/${wanted}`)) - Number(a.label.startsWith(`/${wanted}`)));
  }
}
