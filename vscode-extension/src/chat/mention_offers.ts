// The mentions that the server offers for `@`, and the text of a terminal as one of them. Pure.
import type { Completion, TerminalTextInput } from "../connection/protocol";

/** Icons by the kind of a completion and by the type of a part. */
const ICONS: Readonly<Record<string, string>> = {
  text: "note", file: "file", folder: "folder", selection: "selection", problems: "warning", diagnostics: "warning", resource: "database", command: "terminal",
  image: "file-media", symbol: "symbol-method", diff: "diff", commit: "git-commit", terminal: "terminal", page: "globe",
};

/** The icon of a mention. A server of a later version may have further kinds. */
export function mentionIcon(kind: string): string {
  return ICONS[kind] ?? "mention";
}

/** The completions of the server that are mentions: all kinds except commands. */
export function mentionsOf(items: readonly Completion[]): readonly Completion[] {
  return items.filter(({ kind }) => kind !== "command");
}

const KEPT_CHARS = 16_384; // the server attaches no more of a terminal

/** The end of a terminal's text. */
export function terminalPart(name: string, text: string): TerminalTextInput {
  const trimmed = text.trimEnd();
  return { type: "terminal", name, text: trimmed.slice(-KEPT_CHARS) };
}

/** The word that mentions a terminal: without blanks, because a blank ends a mention. */
export function terminalLabel(name: string): string {
  return `terminal:${name.trim().replace(/\s+/g, "-")}`;
}
