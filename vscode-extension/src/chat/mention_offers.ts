// Converts the server's completions for `@` to mentions, and builds the mention of a terminal's text. Pure.
import type { Completion, TerminalTextInput } from "../connection/protocol";

/** Icons by the kind of a completion, or by the type of a message part. */
const ICONS: Readonly<Record<string, string>> = {
  text: "note", file: "file", folder: "folder", selection: "selection", problems: "warning", diagnostics: "warning", resource: "database", command: "terminal",
  image: "file-media", symbol: "symbol-method", diff: "diff", commit: "git-commit", terminal: "terminal", page: "globe",
};

/** Returns the icon of a mention. A kind that this version does not know gets a general icon. */
export function mentionIcon(kind: string): string {
  return ICONS[kind] ?? "mention";
}

/** Returns the completions that are mentions: all kinds except commands. */
export function mentionsOf(items: readonly Completion[]): readonly Completion[] {
  return items.filter(({ kind }) => kind !== "command");
}

const KEPT_CHARS = 16_384; // the server's limit for the text of a terminal

/** Builds the message part for a terminal, with the last KEPT_CHARS characters of its text. */
export function terminalPart(name: string, text: string): TerminalTextInput {
  const trimmed = text.trimEnd();
  return { type: "terminal", name, text: trimmed.slice(-KEPT_CHARS) };
}

/** Returns the label that mentions a terminal. It contains no blanks, because a blank ends a mention. */
export function terminalLabel(name: string): string {
  return `terminal:${name.trim().replace(/\s+/g, "-")}`;
}

const KEPT_LISTS = 8;

/**
 * What the lists of completions refer to that are displayed or on their way. Each list has keys of its own: each key that
 * is typed asks for one, and an older answer may come later.
 */
export class OfferedValues<T> {
  private lists: ReadonlyMap<string, T>[] = [];
  private count = 0;

  /** Adds the values of a list; returns their keys. */
  add(values: readonly T[]): readonly string[] {
    this.count += 1;
    const keyed = values.map((value, i) => [`${this.count}.${i}`, value] as const);
    this.lists = [new Map(keyed), ...this.lists].slice(0, KEPT_LISTS);
    return keyed.map(([key]) => key);
  }

  get(key: string): T | undefined {
    return this.lists.find((list) => list.has(key))?.get(key);
  }
}
