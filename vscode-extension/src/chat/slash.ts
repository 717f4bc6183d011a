// Parses a prompt that begins with a slash: a command of this editor, one of the server, or plain text. Pure.
import { type CommandInfo, MODES, type Mode } from "../connection/protocol";

interface ClientCommand {
  readonly description: string;
  /** Describes the arguments of the command. */
  readonly hint?: string;
}

/** Commands of this editor; they take precedence over server commands with the same name. */
export const CLIENT_COMMANDS = {
  new: { description: "Start a new session" },
  stop: { description: "Stop the agent" },
  model: { description: "Choose the model", hint: "name" },
  mode: { description: "Choose which actions of the agent need no approval", hint: "plan, ask, edits or full" },
  compact: { description: "Replace earlier messages with a summary to free space in the context window", hint: "what it should keep" },
  keep: { description: "Keep all changes" },
  undo: { description: "Undo all changes" },
  memory: { description: "Open the notes for later sessions of this project" },
  sessions: { description: "Continue another session" },
  mcp: { description: "List the MCP servers of this session, and switch them on and off" },
} as const satisfies Record<string, ClientCommand>;

export type ClientCommandName = keyof typeof CLIENT_COMMANDS;

export type Slash =
  | { readonly kind: "client"; readonly name: ClientCommandName; readonly words: string }
  | { readonly kind: "server"; readonly name: string; readonly words: string }
  | { readonly kind: "text" };

export function isClientCommand(name: string): name is ClientCommandName {
  return Object.hasOwn(CLIENT_COMMANDS, name);
}

export function isMode(word: string): word is Mode {
  return (MODES as readonly string[]).includes(word);
}

/** Parses a prompt that begins with a slash. A path or an unknown command is text, which is sent unchanged. */
export function parseSlash(text: string, known: readonly CommandInfo[]): Slash {
  const [, name = "", words = ""] = /^\/([a-z][\w.:-]*)(?:\s+([^]*))?$/i.exec(text.trim()) ?? [];
  if (isClientCommand(name)) return { kind: "client", name, words: words.trim() };
  if (known.some((command) => command.name === name)) return { kind: "server", name, words: words.trim() };
  return { kind: "text" };
}
