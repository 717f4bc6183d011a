// Converts hovers, calls and code actions of language servers to the protocol. Pure: VS Code's types are declared here
// again, so that tests need no editor.
import type { ActionEdits, CodeActions, CodeCalls, HoverTexts } from "../connection/protocol";
import { type Edit, MAX_PLACES, type Span, type Uri, convertEdits, rangeOf } from "./language_model";

const MAX_TEXTS = 100; // the server's limits
const MAX_ACTIONS = 1_000;
const OWN = "agentLs.";

/** A text, a text with its language, or Markdown. Language servers also send null in place of a text. */
type Marked = string | { readonly language?: string; readonly value?: string } | null | undefined;

export type Hovers = readonly ({ readonly contents?: Marked | readonly Marked[] } | null)[] | null | undefined;

export interface CallItem {
  readonly name: string;
  readonly kind: number;
  readonly detail?: string;
  readonly uri: Uri;
  readonly range: Span;
  readonly selectionRange: Span;
}

export interface Call {
  readonly from?: CallItem;
  readonly to?: CallItem;
  readonly fromRanges: readonly Span[];
}

interface Command {
  readonly title: string;
  readonly command: string;
}

/** A code action, or a command that a language server offers as one. */
export interface Action {
  readonly title: string;
  readonly kind?: { readonly value: string };
  readonly isPreferred?: boolean;
  readonly disabled?: { readonly reason: string };
  readonly edit?: Edit;
  readonly command?: Command | string;
}

function textOf(marked: Marked): string {
  if (typeof marked === "string") return marked;
  const { language = "", value = "" } = marked ?? {};
  return language === "" || value === "" ? value : `\`\`\`${language}\n${value}\n\`\`\``;
}

export function convertHovers(found: Hovers): HoverTexts {
  const all = (found ?? []).flatMap((hover): readonly Marked[] => {
    const contents = hover?.contents;
    return Array.isArray(contents) ? contents as readonly Marked[] : [contents as Marked];
  });
  return { texts: all.map(textOf).filter((text) => text.trim() !== "").slice(0, MAX_TEXTS) };
}

/** VS Code numbers symbol kinds from 0, the protocol from 1. */
export function convertCalls(found: readonly Call[]): CodeCalls {
  const calls = found.flatMap(({ from, to, fromRanges }) => {
    const one = from ?? to;
    if (one === undefined) return [];
    const { start } = one.selectionRange;
    return [{
      name: one.name, kind: one.kind + 1, uri: one.uri.toString(), ...rangeOf({ start, end: one.range.end }), depth: 0,
      ...(one.detail !== undefined && one.detail !== "" && { container: one.detail }),
      lines: [...new Set(fromRanges.map((range) => range.start.line))].slice(0, MAX_PLACES),
    }];
  });
  return { calls: calls.slice(0, MAX_PLACES), truncated: calls.length > MAX_PLACES };
}

function commandOf({ title, command }: Action): Command | undefined {
  return typeof command === "string" ? { title, command } : command;
}

/** Leaves out the actions of this extension, which send messages to the agent. */
export function isForeign(action: Action): boolean {
  return commandOf(action)?.command.startsWith(OWN) !== true;
}

export function convertActions(found: readonly Action[] | null | undefined): CodeActions {
  const actions = (found ?? []).filter((action) => isForeign(action) && action.title !== "").map(({ title, kind, isPreferred, disabled }) => ({
    title, kind: kind?.value ?? "", preferred: isPreferred === true, ...(disabled && { disabled: disabled.reason }),
  }));
  return { actions: actions.slice(0, MAX_ACTIONS) };
}

/** Converts the edits of a resolved action. Its command is only named: the agent cannot show what it would do. */
export function convertActionEdits(action: Action, versionOf: (uri: string) => number | undefined): ActionEdits {
  const command = commandOf(action);
  return { ...convertEdits(action.edit, versionOf), command: command === undefined ? "" : command.title || command.command };
}
