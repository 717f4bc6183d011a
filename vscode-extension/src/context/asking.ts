// Builds messages about a location in a file, a terminal or a failed test. They contain a slash command such as `/fix`,
// which the server expands to the instructions for the model. Pure.
import type { CommandInput } from "../connection/protocol";

interface Position {
  readonly line: number;
  readonly character: number;
}

interface Lines {
  readonly startLine: number;
  readonly endLine: number;
}

/** Returns the whole lines of a range, because the model refers to code by lines. For a cursor, returns its line. */
export function linesOf({ start, end }: { readonly start: Position; readonly end: Position }): Lines {
  const endsAtLineStart = end.character === 0 && end.line > start.line;
  return { startLine: start.line, endLine: endsAtLineStart ? end.line : end.line + 1 };
}

/** The part of VS Code's DocumentSymbol that is needed here. */
export interface SymbolRange {
  readonly range: { readonly start: Position; readonly end: Position };
  readonly children?: readonly SymbolRange[];
}

/** Finds the innermost symbol around a line, such as a function. Ignores symbols that are on one line only. */
export function symbolAt<T extends SymbolRange>(symbols: readonly T[], line: number): T | undefined {
  const around = symbols.find(({ range: { start, end } }) => start.line <= line && line <= end.line && start.line < end.line);
  return around && (symbolAt((around.children ?? []) as readonly T[], line) ?? around);
}

export interface Problem {
  readonly message: string;
  readonly source?: string | undefined;
  readonly range: { readonly start: Position };
}

export function formatProblem({ message, source, range }: Problem): string {
  return `line ${range.start.line + 1}: ${message.trim()}${source === undefined ? "" : ` (${source})`}`;
}

export function commandInput(name: string, problems: readonly string[]): CommandInput[] {
  return [{ type: "command", name, ...(problems.length > 0 && { arguments: problems.join("\n") }) }];
}

/** A command that the user ran in a terminal. While it runs, it has no exit code. */
export interface TerminalCommand {
  readonly line: string;
  output: string;
  exitCode?: number;
}

/** Returns at most the last `limit` characters of a text, beginning at the start of a line. */
export function cutToTail(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const tail = text.slice(-limit);
  return tail.slice(tail.indexOf("\n") + 1);
}

// Escape sequences of a terminal: OSC (titles, shell integration), CSI (colours, cursor), single characters.
const ESCAPES = /\u001b(?:\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\[[0-9;?<=>]*[ -/]*[@-~]|[()][0-9A-Za-z]|[=>@-Z\\^_a-z])/g;

/** Converts terminal output to plain text: removes escape sequences, and keeps only the last state of each line. */
export function plainOutput(text: string): string {
  const lines = text.replace(ESCAPES, "").replaceAll("\r\n", "\n").split("\n");
  return lines.map((line) => line.replace(/\r+$/, "").split("\r").at(-1) ?? "").join("\n").trim();
}

function fenced(text: string): string {
  const fence = "`".repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length + 1)));
  return `${fence}\n${text}\n${fence}`;
}

/** Formats text of a terminal for the model. */
export function formatTerminalText(text: string): string {
  return `From a terminal of the user:\n${fenced(text.trim())}`;
}

export function formatTerminalCommand({ line, output, exitCode }: TerminalCommand): string {
  const end = exitCode === undefined ? "it still runs" : `exit code ${exitCode}`;
  return `Command in a terminal of the user (${end}):\n${fenced(`$ ${line}\n${plainOutput(output)}`.trim())}`;
}

/** A failed test. `expected` and `actual` are the values that the test framework reports. */
export interface TestFailure {
  readonly label: string;
  readonly message: string;
  readonly expected?: string | undefined;
  readonly actual?: string | undefined;
}

export function formatTestFailure({ label, message, expected, actual }: TestFailure): string {
  const compared = expected !== undefined && actual !== undefined ? [`Expected:\n${fenced(expected)}`, `Actual:\n${fenced(actual)}`] : [];
  const said = plainOutput(message);
  return [`Failed test: ${label}`, ...(said === "" ? [] : [fenced(said)]), ...compared].join("\n");
}
