// Converts results of language servers to the protocol: flat lists of limited length, with URIs, lines and
// characters. Pure: VS Code's types are declared here again, so that tests need no editor.
import type { CodeLocations, CodeSymbol, CodeSymbols, DocumentEdits, EditorSelection, RenameEdits } from "../connection/protocol";

export const MAX_PLACES = 5_000; // the server's limit
const MAX_DOCUMENTS = 1_000;
const MAX_EDITS = 10_000;
const TEXT_EDIT = 2; // VS Code's numbers for entries of a workspace edit
const SNIPPET_EDIT = 6;

export interface Uri {
  toString(): string;
}

export interface Span {
  readonly start: { readonly line: number; readonly character: number };
  readonly end: { readonly line: number; readonly character: number };
}

interface Location {
  readonly uri: Uri;
  readonly range: Span;
}

interface LocationLink {
  readonly targetUri: Uri;
  readonly targetRange: Span;
  readonly targetSelectionRange?: Span | undefined;
}

interface DocumentSymbol {
  readonly name: string;
  readonly kind: number;
  readonly range: Span;
  readonly selectionRange: Span;
  readonly children?: readonly DocumentSymbol[];
}

interface SymbolInformation {
  readonly name: string;
  readonly kind: number;
  readonly containerName?: string;
  readonly location: Location;
}

export type Found = readonly (Location | LocationLink)[] | null | undefined;
export type FoundSymbols = readonly (DocumentSymbol | SymbolInformation)[] | null | undefined;

interface Change {
  readonly range: Span;
  readonly newText: string;
}

export interface Edit {
  entries(): readonly (readonly [Uri, readonly Change[]])[];
}

export function rangeOf({ start, end }: Span): EditorSelection {
  return { startLine: start.line, startCharacter: start.character, endLine: end.line, endCharacter: end.character };
}

export function convertLocations(found: Found): CodeLocations {
  const all = (found ?? []).map((one) => "uri" in one
    ? { uri: one.uri.toString(), ...rangeOf(one.range) }
    : { uri: one.targetUri.toString(), ...rangeOf(one.targetSelectionRange ?? one.targetRange) });
  return { locations: all.slice(0, MAX_PLACES), truncated: all.length > MAX_PLACES };
}

/**
 * Flattens symbols and their children. A range begins at the symbol's name and ends with its body. VS Code
 * numbers symbol kinds from 0, the protocol from 1.
 */
function* flatten(uri: string, found: readonly (DocumentSymbol | SymbolInformation)[], container?: string, depth = 0): Generator<CodeSymbol> {
  for (const one of found) {
    const { name, kind } = one;
    if ("location" in one) {
      const { containerName, location } = one;
      yield {
        name, kind: kind + 1, uri: location.uri.toString(), ...rangeOf(location.range), depth,
        ...(containerName !== undefined && containerName !== "" && { container: containerName }),
      };
      continue;
    }
    const { start } = one.selectionRange;
    yield { name, kind: kind + 1, uri, ...rangeOf({ start, end: one.range.end }), depth, ...(container !== undefined && { container }) };
    yield* flatten(uri, one.children ?? [], name, depth + 1);
  }
}

export function convertSymbols(found: FoundSymbols, uri = ""): CodeSymbols {
  const all: CodeSymbol[] = [];
  for (const one of flatten(uri, found ?? [])) {
    if (all.length === MAX_PLACES) return { symbols: all, truncated: true };
    all.push(one);
  }
  return { symbols: all, truncated: false };
}

/** Lists the file operations of an edit. Uses a private method, because VS Code has no public API for them. */
function fileOperations(edit: Edit): string[] {
  const { _allEntries: all } = edit as { _allEntries?: () => readonly { readonly _type: number; readonly from?: Uri; readonly to?: Uri }[] };
  return (all?.call(edit) ?? [])
    .filter(({ _type }) => _type !== TEXT_EDIT)
    .map(({ _type, from, to }) => [from, to].filter((uri) => uri !== undefined).join(" to ") || (_type === SNIPPET_EDIT ? "a snippet" : "a notebook"));
}

/** Converts an edit. `versionOf` returns the version that an open document had before the edit was requested. */
export function convertEdits(edit: Edit | null | undefined, versionOf: (uri: string) => number | undefined): RenameEdits {
  const entries = edit?.entries() ?? [];
  if (entries.length > MAX_DOCUMENTS || entries.some(([, changes]) => changes.length > MAX_EDITS)) {
    throw new Error("the edit changes too many places");
  }
  const documents = entries.map(([uri, changes]): DocumentEdits => {
    const version = versionOf(uri.toString());
    return {
      uri: uri.toString(),
      ...(version !== undefined && { version }),
      edits: changes.map(({ range, newText }) => ({ ...rangeOf(range), newText })),
    };
  });
  return { documents, fileOperations: edit ? fileOperations(edit) : [] };
}
