// What is said about the author of a line. Pure.
import type { BlameResult } from "../connection/protocol";

const DECISIONS: Readonly<Record<string, string>> = { kept: "kept", pending: "not decided", edited: "edited by you" };

/** Returns the lines [first, last) that the agent wrote. */
export function agentLines({ ranges }: BlameResult): (readonly [number, number])[] {
  return ranges.filter(({ author }) => author === "agent").map(({ range }) => range);
}

/** Returns a time of the server in the time zone of this machine. */
function localMinute(time: string): string {
  const at = new Date(time);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16).replace("T", " ");
}

/** Describes the author of a line in a few rows; undefined if there is no such line. */
export function describeLine({ ranges, origins }: BlameResult, line: number): string[] | undefined {
  const found = ranges.find(({ range: [first, last] }) => first <= line && line < last);
  if (!found) return undefined;
  const origin = found.origin === undefined ? undefined : origins[found.origin];
  if (!origin) return [found.author === "user" ? "Written by you, or by another program" : "It is not known who wrote this line"];
  const when = [localMinute(origin.time), DECISIONS[origin.decision] ?? ""].filter(Boolean).join(", ");
  // The model is last, because a notification shows only the beginning.
  return ["Written by the agent", origin.message === "" ? "" : `for: ${origin.message}`, when, origin.model].filter(Boolean);
}

/** Returns a text that a notification shows as it is: VS Code would make links, also to commands, of `[a](b)`. */
export function withoutLinks(text: string): string {
  return text.replaceAll("](", "] (");
}
