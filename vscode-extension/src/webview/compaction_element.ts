// Renders a compaction of the conversation and its summary.
import type { CompactionItem } from "../snapshot/items";
import { h, icon } from "./dom";

export function compactionElement(item: CompactionItem): HTMLElement {
  const words = item.text === "" ? "Summarising the conversation to free space…" : item.text;
  const body = item.summary === "" ? null : h("details", {}, h("summary", { class: "dim" }, "Summary"), h("pre", { class: "summary" }, item.summary));
  return h("article", { class: `notice ${item.status === "failed" ? "warn" : "info"}` }, icon(item.status === "started" ? "loading codicon-modifier-spin" : "fold"), h("div", {}, words, body));
}
