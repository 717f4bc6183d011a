// The elements of the transcript by item. Each is created once, and then updated in place if possible.
import { findByData, h } from "./dom";
import type { Append, ItemView, TextView } from "./messages";
import { type RenderContext, itemElement } from "./render";
import { StreamedMarkdown } from "./stream";
import { ToolCard } from "./tool_card";

export interface Entry {
  readonly index: number;
  readonly element: HTMLElement;
  readonly stream?: StreamedMarkdown;
  readonly card?: ToolCard;
}

function isText(item: ItemView): item is TextView {
  return item.kind === "text" || item.kind === "reasoning";
}

/** Returns the name of the focused button of an element, so that it can get the focus again after a redraw. */
function focusedAction(element: HTMLElement): string | undefined {
  const active = document.activeElement;
  return active instanceof HTMLElement && element.contains(active) ? active.dataset["action"] : undefined;
}

export class Entries {
  private readonly byId = new Map<string, Entry>();

  constructor(private readonly context: RenderContext) {}

  get size(): number {
    return this.byId.size;
  }

  get(id: string): Entry | undefined {
    return this.byId.get(id);
  }

  clear(): void {
    this.byId.clear();
  }

  /** Removes the oldest or newest entries and returns them in order. */
  drop(count: number, from: "oldest" | "newest"): Entry[] {
    const inOrder = [...this.byId].sort(([, a], [, b]) => a.index - b.index);
    const out = count <= 0 ? [] : from === "oldest" ? inOrder.slice(0, count) : inOrder.slice(-count);
    for (const [id, { element }] of out) {
      element.remove();
      this.byId.delete(id);
    }
    return out.map(([, entry]) => entry);
  }

  /** Creates an element for an item. */
  make(item: ItemView): HTMLElement {
    const made = this.parts(item);
    made.element.dataset["id"] = item.id;
    this.markAgent(made.element, item);
    this.byId.set(item.id, { index: item.index, ...made });
    return made.element;
  }

  /** Redraws an existing item; false if it does not exist. */
  update(item: ItemView): boolean {
    const before = this.byId.get(item.id);
    if (!before) return false;
    if (before.card && item.kind === "tool") {
      before.card.update(item);
      this.markAgent(before.element, item);
      return true;
    }
    const hadFocus = before.element.contains(document.activeElement);
    const focused = focusedAction(before.element);
    const made = this.make(item);
    before.element.replaceWith(made);
    if (focused !== undefined) findByData(made, "action", focused)?.focus();
    // An answered request no longer has buttons, so move the focus to the prompt.
    if (hadFocus && !made.contains(document.activeElement)) this.context.focusPrompt();
    return true;
  }

  /** Collapses or expands the items of a subagent, except its requests to the user. */
  fold(agentId: string, isHidden: boolean): void {
    for (const { element } of this.byId.values()) if (element.dataset["agent"] === agentId) element.hidden = isHidden;
  }

  /** Shows or hides the row of a call, which is hidden at first because its changes have their own items. */
  toggleCall(callId: string): void {
    const { expanded } = this.context;
    const isShown = expanded.get(`call:${callId}`) !== true;
    expanded.set(`call:${callId}`, isShown);
    const element = this.byId.get(callId)?.element;
    element?.classList.toggle("redundant", !isShown);
    const details = element?.querySelector("details");
    if (details) details.open = isShown;
  }

  private markAgent(element: HTMLElement, item: ItemView): void {
    element.classList.toggle("out", item.isOut === true);
    if (item.agentId === undefined) return;
    element.classList.add("of-agent");
    const isAsked = (item.kind === "approval" || item.kind === "question") && item.status === "pending";
    if (isAsked) {
      delete element.dataset["agent"];
      element.hidden = false;
      return;
    }
    element.dataset["agent"] = item.agentId;
    element.hidden = this.context.expanded.get(item.agentId) !== true;
  }

  append({ id, text, open }: Append): void {
    const entry = this.byId.get(id);
    entry?.stream?.append(text, open);
    entry?.element.classList.toggle("open", open);
    const label = open ? null : entry?.element.querySelector("summary.thought");
    if (label) label.textContent = "Thought";
  }

  private parts(item: ItemView): Omit<Entry, "index"> {
    if (isText(item)) return this.text(item);
    if (item.kind === "tool") {
      const card = new ToolCard(item, this.context);
      return { element: card.element, card };
    }
    return { element: itemElement(item, this.context) };
  }

  private text(item: TextView): Omit<Entry, "index"> {
    const stream = new StreamedMarkdown("markdown");
    stream.append(item.text, item.open);
    const state = `${item.open ? "open" : ""} ${item.interrupted ? "interrupted" : ""}`;
    if (item.kind === "text") return { element: h("article", { class: `text ${state}`, "aria-label": "agent" }, stream.element), stream };
    const { expanded } = this.context;
    const folded = h("details", { open: expanded.get(item.id) ?? false }, h("summary", { class: "dim thought" }, item.open ? "Thinking…" : "Thought"), stream.element);
    folded.addEventListener("toggle", () => expanded.set(item.id, folded.open));
    return { element: h("article", { class: `reasoning ${state}`, "aria-label": "What the model thought" }, folded), stream };
  }
}
