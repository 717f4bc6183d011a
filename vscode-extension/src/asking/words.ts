// Parses the text of ask in place: converts its mentions and its slash command to parts of a message. Pure.
import { parseSlash } from "../chat/slash";
import type { CommandInfo, InputPart } from "../connection/protocol";

/** A mention that was chosen from the completions: its text in the input, and the message part for it. */
export interface Mention {
  readonly written: string;
  readonly part: InputPart;
}

/** Returns the word before the cursor if it begins with `@`, or with `/` at the beginning of the text; else undefined. */
export function triggerAt(before: string): { readonly trigger: "@" | "/"; readonly query: string } | undefined {
  const command = /^\/([\w.:-]*)$/.exec(before);
  if (command) return { trigger: "/", query: command[1] ?? "" };
  const mention = /(?:^|\s)@(\S*)$/.exec(before);
  return mention ? { trigger: "@", query: mention[1] ?? "" } : undefined;
}

/** Builds the parts of a message about `selection`. Omits mentions that the user has deleted from the text. */
export function askInput(text: string, selection: InputPart, mentions: readonly Mention[], commands: readonly CommandInfo[]): InputPart[] {
  const slash = text.trim().startsWith("/") ? parseSlash(text.trim(), commands) : { kind: "text" as const };
  const named = mentions.filter(({ written }) => text.includes(written)).map(({ part }) => part);
  if (slash.kind === "server") return [selection, ...named, { type: "command", name: slash.name, ...(slash.words !== "" && { arguments: slash.words }) }];
  return [selection, ...named, { type: "text", text: text.trim() }];
}

/** Formats lines for a title: `a.ts:3`, `a.ts:3-5`. `startLine` counts from 0; `endLine` is exclusive. */
export function formatLocation(file: string, startLine: number, endLine: number): string {
  return endLine - startLine <= 1 ? `${file}:${startLine + 1}` : `${file}:${startLine + 1}-${endLine}`;
}
