// Mirrors agent_ls/server/protocol/asked.py and language.py: what `client_request` asks of this client, by its `what`, and
// what is answered. Lines and characters (UTF-16) from 0.
import type { DiagnosticsReport, TextRange } from "./protocol";

type Empty = Readonly<Record<string, never>>;

export interface CodeLocation extends TextRange {
  readonly uri: string;
}

/** `truncated`: there are more. */
export interface CodeLocations {
  readonly locations: readonly CodeLocation[];
  readonly truncated?: boolean;
}

/** `kind` as in the language server protocol. */
export interface CodeSymbol extends CodeLocation {
  readonly name: string;
  readonly kind: number;
  readonly container?: string;
  readonly depth?: number;
}

export interface CodeSymbols {
  readonly symbols: readonly CodeSymbol[];
  readonly truncated?: boolean;
}

export interface CodeEdit extends TextRange {
  readonly newText: string;
}

/** `version`: of the open document that the edits are of. */
export interface DocumentEdits {
  readonly uri: string;
  readonly version?: number;
  readonly edits: readonly CodeEdit[];
}

export interface RenameEdits {
  readonly documents: readonly DocumentEdits[];
  readonly fileOperations?: readonly string[];
}

interface CodePosition {
  readonly uri: string;
  readonly line: number;
  readonly character: number;
}

interface NamedCell {
  readonly uri: string;
  readonly version: number;
}

/** To be saved only while it has that version; a notebook, while it has these cells, each of its version. */
export interface NamedDocument {
  readonly uri: string;
  readonly version: number;
  readonly cells?: readonly NamedCell[];
}

export interface Saved {
  readonly saved?: readonly string[];
  readonly failed?: readonly { readonly uri: string; readonly reason?: string }[];
}

/** The text of the cell, whose document `uri` is, was `was`. */
export interface CellText {
  readonly index: number;
  readonly uri: string;
  readonly was: string;
  readonly text: string;
}

export interface NewCell {
  readonly kind: "code" | "markdown" | "raw";
  readonly language: string;
  readonly text: string;
  /** As the file is to have it. */
  readonly id?: string;
}

/** The cells from `start` on that hold `was` give way to `cells`. */
export interface Splice {
  readonly start: number;
  readonly was: readonly string[];
  readonly cells: readonly NewCell[];
}

export interface NotebookChange {
  readonly uri: string;
  readonly cellCount: number;
  readonly texts: readonly CellText[];
  readonly splices: readonly Splice[];
}

/** `argv` is to run as it is given. */
export interface TerminalOpening {
  readonly terminalId: string;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly title: string;
}

export interface ClientRequests {
  save: { params: { readonly documents: readonly NamedDocument[] }; result: Saved };
  checkTime: { params: { readonly uris: readonly string[] }; result: Empty };
  editNotebook: { params: NotebookChange; result: Empty };
  terminalOpen: { params: TerminalOpening; result: Empty };
  terminalRuns: { params: { readonly terminalId: string; readonly callId: string }; result: Empty };
  definition: { params: CodePosition; result: CodeLocations };
  references: { params: CodePosition; result: CodeLocations };
  symbols: { params: { readonly uri?: string; readonly query?: string }; result: CodeSymbols };
  rename: { params: CodePosition & { readonly newName: string }; result: RenameEdits };
  diagnostics: { params: { readonly uri?: string }; result: { readonly files: readonly DiagnosticsReport[] } };
}

/** What answers what is asked. */
export type Answerers = { readonly [W in keyof ClientRequests]: (params: ClientRequests[W]["params"]) => ClientRequests[W]["result"] | Promise<ClientRequests[W]["result"]> };
