// Renders a subagent and its output.
import { h, icon, plural } from "./dom";
import { AGENT_WORDS } from "../wire/words";
import type { SubagentView } from "./messages";
import type { RenderContext } from "./render";

const AGENT_ICONS = { running: "loading codicon-modifier-spin", completed: "check", failed: "error" } as const;

/** Renders a subagent. The subagent's items are below it, and visible while it is expanded. */
export function subagentElement(item: SubagentView, { expanded }: RenderContext, onToggle: (open: boolean) => void): HTMLElement {
  const doing = item.status === "running" ? "at work" : (AGENT_WORDS[item.reason] ?? "done");
  const outcome = item.turns > 0 ? `${doing} · ${plural(item.turns, "round")}` : doing;
  const summary = h("summary", {}, icon(AGENT_ICONS[item.status]), h("strong", {}, item.id), h("span", { class: "what" }, item.task), h("span", { class: "outcome dim" }, outcome));
  const element = h("details", { open: expanded.get(item.id) ?? false }, summary);
  element.addEventListener("toggle", () => {
    expanded.set(item.id, element.open);
    onToggle(element.open);
  });
  const output = item.output.trim();
  return h("article", { class: `subagent ${item.status}`, "aria-label": `${item.id}: ${item.task}` }, element, output === "" ? null : h("div", { class: "output" }, output));
}
