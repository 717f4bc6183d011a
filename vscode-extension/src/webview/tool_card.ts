// The card of a tool call: changed in place while it runs, so that what is open, selected or scrolled in it stays so.
import { h, icon, textButton } from "./dom";
import type { ToolView } from "./messages";
import type { RenderContext } from "./render";

const ICONS: Record<ToolView["status"], string> = { writing: "edit", running: "loading codicon-modifier-spin", done: "check", failed: "error" };
const WORDS: Record<ToolView["status"], string> = { writing: "is being written", running: "is running", done: "done", failed: "failed" };
const TAIL_LINES = 4;

/** What a terminal obeys: colours, cursor moves, titles. */
const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]?|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]+[0-~]|[0-~])|[\x07\x0e\x0f]/g;

/** A terminal's text as lines for reading: without colours, and of a line written over only its last state. */
export function plainOutput(text: string): string {
  const lines = text.replace(ESCAPES, "").replace(/\r+\n/g, "\n").split("\n");
  return lines.map((line) => line.slice(line.replace(/\r+$/, "").lastIndexOf("\r") + 1).replace(/\r/g, "")).join("\n");
}

function argumentRows(text: string): HTMLElement {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    parsed = undefined; // still being written, or cut
  }
  if (typeof parsed !== "object" || parsed === null) return h("pre", { class: "output", tabindex: 0, "aria-label": "Arguments" }, text);
  const rows = Object.entries(parsed).map(([name, value]) => [h("dt", {}, name), h("dd", {}, typeof value === "string" ? value : JSON.stringify(value))]);
  return h("dl", { class: "arguments" }, ...rows.flat());
}

export class ToolCard {
  readonly element = h("article");
  private readonly summary = h("summary");
  private readonly details: HTMLDetailsElement;
  private readonly given = h("div");
  private readonly output = h("pre", { class: "output", tabindex: 0, "aria-label": "Output" });
  private readonly actions = h("div", { class: "actions" });
  private readonly tail = h("pre", { class: "output tail", "aria-hidden": "true" });
  private shownArguments: string | undefined;

  constructor(
    private item: ToolView,
    private readonly context: RenderContext,
  ) {
    this.details = h("details", { open: context.expanded.get(item.id) ?? false }, this.summary, this.given, this.output, this.actions);
    this.details.addEventListener("toggle", () => {
      context.expanded.set(this.item.id, this.details.open);
      this.drawBody();
    });
    this.element.append(this.details, this.tail);
    this.update(item);
  }

  update(item: ToolView): void {
    this.item = item;
    const { name, summary, status } = item;
    this.element.className = `tool ${status}`;
    this.element.setAttribute("aria-label", `${name} ${summary} ${WORDS[status]}`);
    this.summary.replaceChildren(
      icon(ICONS[status]),
      h("span", { class: "sr-only" }, `${WORDS[status]}: `),
      h("strong", {}, name),
      h("span", { class: "what", title: summary }, summary),
      h("span", { class: "outcome dim" }, item.outcome),
    );
    this.drawBody();
  }

  private drawBody(): void {
    const { item } = this;
    const isOpen = this.details.open;
    const text = isOpen || item.status === "running" ? plainOutput(item.output) : "";
    const isTail = !isOpen && item.status === "running" && text !== "";
    this.tail.hidden = !isTail;
    this.tail.textContent = isTail ? text.trimEnd().split("\n").slice(-TAIL_LINES).join("\n") : "";
    // A closed card holds no text: a long session has thousands of them.
    if (isOpen) this.drawOpen(text);
    else this.empty();
  }

  private drawOpen(text: string): void {
    const { item, output } = this;
    if (this.shownArguments !== item.arguments) this.given.replaceChildren(argumentRows(item.arguments));
    this.shownArguments = item.arguments;
    const wasAtEnd = output.scrollHeight - output.scrollTop - output.clientHeight < 8;
    if (output.textContent !== text) output.textContent = text;
    output.hidden = text === "";
    if (item.status === "running" && wasAtEnd) output.scrollTop = output.scrollHeight;
    this.drawActions();
  }

  private drawActions(): void {
    const { id, killable, hasTerminal } = this.item;
    const { send } = this.context;
    const state = `${hasTerminal} ${String(killable)}`;
    if (this.actions.dataset["state"] === state) return; // a button that has the focus keeps it
    this.actions.dataset["state"] = state;
    this.actions.hidden = !hasTerminal;
    this.actions.replaceChildren(
      textButton("Show in Terminal", () => { send({ type: "terminal", callId: id }); }, { class: "link" }),
      ...(killable === null ? [] : [textButton("End It", () => { send({ type: "kill", terminalId: killable }); }, { class: "link" })]),
    );
  }

  private empty(): void {
    this.given.replaceChildren();
    this.actions.replaceChildren();
    delete this.actions.dataset["state"];
    this.output.textContent = "";
    this.shownArguments = undefined;
  }
}
