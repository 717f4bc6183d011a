// Builds messages about a location in a file. The text for the model comes from the server: a slash command with the
// problems as its arguments. Pure.
import type { CommandInput } from "../protocol";

interface Position {
  readonly line: number;
  readonly character: number;
}

interface Lines {
  readonly startLine: number;
  readonly endLine: number;
}

/** The whole lines of a range, because references for the model are in lines. For a cursor, its line. */
export function linesOf({ start, end }: { readonly start: Position; readonly end: Position }): Lines {
  const endsAtLineStart = end.character === 0 && end.line > start.line;
  return { startLine: start.line, endLine: endsAtLineStart ? end.line : end.line + 1 };
}

export interface Problem {
  readonly message: string;
  readonly source?: string | undefined;
  readonly range: { readonly start: Position };
}

export function problemWords({ message, source, range }: Problem): string {
  return `line ${range.start.line + 1}: ${message.trim()}${source === undefined ? "" : ` (${source})`}`;
}

export function commandInput(name: string, problems: readonly string[]): CommandInput[] {
  return [{ type: "command", name, ...(problems.length > 0 && { arguments: problems.join("\n") }) }];
}
