// Renders a subagent and its output.
import { AGENT_WORDS } from "../wire/words";
import { h, icon, iconButton, plural } from "./dom";
import type { SubagentView } from "./messages";
import type { RenderContext } from "./render";

const AGENT_ICONS = { running: "loading codicon-modifier-spin", completed: "check", failed: "error" } as const;

/** Renders a subagent. The subagent's items are below it, and visible while it is expanded. */
export function subagentElement(item: SubagentView, { expanded, send, isReadOnly }: RenderContext, onToggle: (open: boolean) => void): HTMLElement {
  const doing = item.status === "running" ? "at work" : (AGENT_WORDS[item.reason] ?? "done");
  const outcome = item.turns > 0 ? `${doing} · ${plural(item.turns, "round")}` : doing;
  const summary = h("summary", {}, icon(AGENT_ICONS[item.status]), h("strong", {}, item.id), h("span", { class: "what" }, item.task), h("span", { class: "outcome dim" }, outcome));
  const element = h("details", { open: expanded.get(item.id) ?? false }, summary);
  element.addEventListener("toggle", () => {
    expanded.set(item.id, element.open);
    onToggle(element.open);
  });
  const output = item.output.trim();
  return h("article", { class: `subagent ${item.status}`, "aria-label": `${item.id}: ${item.task}` }, element, item.status === "running" && !isReadOnly() && actions(item.id, send), output === "" ? null : h("div", { class: "output" }, output));
}

/** The buttons of a running subagent: a message to it, and its end. The turn goes on after both. */
function actions(agentId: string, send: RenderContext["send"]): HTMLElement {
  return h(
    "div",
    { class: "agent-actions" },
    iconButton("comment", `Send a message to ${agentId}…`, () => { send({ type: "steerAgent", agentId }); }, { "data-action": "steerAgent" }),
    iconButton("debug-stop", `Stop ${agentId}. The turn goes on.`, () => { send({ type: "stopAgent", agentId }); }, { "data-action": "stopAgent" }),
  );
}
