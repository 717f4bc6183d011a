// Mirrors agent_ls/server/protocol/language.py: what `client_request` asks about code, and what is answered. Lines and
// characters (UTF-16) from 0.
import type { TextRange } from "./protocol";

export interface CodeLocation extends TextRange {
  readonly uri: string;
}

/** `kind` as in the language server protocol. */
export interface CodeSymbol extends CodeLocation {
  readonly name: string;
  readonly kind: number;
  readonly container?: string;
  readonly depth?: number;
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
  readonly fileOperations: readonly string[];
}

interface CodePosition {
  readonly uri: string;
  readonly line: number;
  readonly character: number;
}

/** The params of what `client_request` asks of the code, by its `what`. */
export interface CodeQuery {
  definition: CodePosition;
  references: CodePosition;
  symbols: { readonly uri?: string; readonly query?: string };
  rename: CodePosition & { readonly newName: string };
  diagnostics: { readonly uri?: string };
}
