// What is asked about a place in a file, as parts of a message. The words that the model is told are the server's:
// a slash command with the problems as its arguments. Pure.
import type { CommandInput } from "../protocol";

interface Position {
  readonly line: number;
  readonly character: number;
}

interface Lines {
  readonly startLine: number;
  readonly endLine: number;
}

/** The whole lines of a range: what the model is told of counts in lines. A cursor is its line. */
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
