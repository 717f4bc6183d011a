// The agent's current activity in a few words, for the end of the transcript. Pure.
import type { Item, Snapshot, ToolItem } from "./items";
import { findActivity } from "./snapshot";
import { toolWords } from "./tool_words";

function describeTool(item: ToolItem): string {
  const { name, summary, status } = item;
  const { doing: verb } = toolWords(item);
  // Do not name the command, because its row shows it, with a timer.
  if (name === "shell" && status === "running") return "Waiting for the command";
  const what = summary.split("\n")[0] ?? "";
  if (status === "writing") return name === "shell" ? "Writing a command" : verb === name ? "Preparing a call" : verb;
  return [verb, what].filter((word) => word !== "").join(" ");
}

function describeItem(item: Item | undefined): string {
  if (item?.kind === "retry") return "Waiting to try again"; // the item has the reason and the number of the attempt
  if (item?.kind === "text" && item.part.open) return "Writing";
  if (item?.kind === "compaction" && item.status === "started") return "Compacting the conversation";
  return "Thinking";
}

/** Describes what the agent is doing; "" if it is not working. */
export function describeActivity(s: Snapshot): string {
  if (s.progress !== undefined) return s.progress;
  if (findActivity(s) !== "working") return "";
  const running = s.items.findLast((item) => item.kind === "tool" && item.agentId === undefined && item.background !== true && (item.status === "running" || item.status === "writing"));
  if (running?.kind === "tool") return describeTool(running);
  return describeItem(s.items.at(-1));
}
