// The card of a tool call, updated in place while it runs, so that expansion, selection and scroll position are kept.
import { clockElement } from "./clock";
import { h, icon, iconButton, pathParts, textButton } from "./dom";
import type { ToolView } from "./messages";
import type { RenderContext } from "./render";
import { type Finding, toolIcon, toolWords } from "../snapshot/tool_words";

const ICONS: Partial<Record<ToolView["status"], string>> = { running: "loading codicon-modifier-spin", failed: "error" };
const WORDS: Record<ToolView["status"], string> = { writing: "is being written", running: "is running", done: "done", failed: "failed" };
const TAIL_LINES = 4;

/** Terminal escape sequences: colours, cursor moves, titles. */
const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]?|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]+[0-~]|[0-~])|[\x07\x0e\x0f]/g;

/** Converts terminal output to plain text: removes escape sequences, and keeps only the last state of each line. */
export function plainOutput(text: string): string {
  const lines = text.replace(ESCAPES, "").replace(/\r+\n/g, "\n").split("\n");
  return lines.map((line) => line.slice(line.replace(/\r+$/, "").lastIndexOf("\r") + 1).replace(/\r/g, "")).join("\n");
}

function argumentRows(text: string): HTMLElement {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    parsed = undefined; // still streaming, or truncated
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
  /** Buttons for a running command. They are next to the row, so that the user need not expand it. */
  private readonly quick = h("div", { class: "quick", hidden: true });
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
    this.element.append(this.details, this.quick, this.tail);
    this.update(item);
  }

  update(item: ToolView): void {
    this.item = item;
    const { name, summary, status } = item;
    this.element.className = `tool ${status}${item.isRedundant && !this.context.expanded.get(`call:${item.id}`) ? " redundant" : ""}`;
    const { doing, done } = toolWords(item);
    const verb = status === "done" || (status === "failed" && name === "shell") ? done : doing;
    this.element.dataset["tool"] = name;
    this.element.dataset["reads"] = item.group;
    this.element.setAttribute("aria-label", `${verb} ${summary} ${WORDS[status]}`);
    this.summary.replaceChildren(
      icon(ICONS[status] ?? toolIcon(item.look)),
      h("span", { class: "sr-only" }, `${WORDS[status]}: `),
      h("span", { class: "verb", title: name }, verb),
      h("span", { class: "what", title: summary }, this.drawTitle(), item.lines === "" ? "" : h("span", { class: "dim" }, ` ${item.lines}`)),
      h("span", { class: "outcome dim" }, ...this.drawOutcome()),
    );
    if (item.finding) this.drawFinding(item.finding);
    this.drawQuick();
    this.drawBody();
  }

  /** A finding of a review: its severity, a link to its lines, and below them what is wrong. */
  private drawFinding({ place, target, severity, message }: Finding): void {
    this.element.setAttribute("aria-label", `Finding, ${severity}, ${place}: ${message}`);
    this.summary.replaceChildren(
      icon(severity),
      h("span", { class: "sr-only" }, `${severity}: `),
      h("span", { class: "what" }, h("span", { class: "path", "data-open": target, title: `Open ${target}` }, ...pathParts(place))),
      h("span", { class: "message", title: message }, message),
    );
    this.element.classList.add("finding", severity);
  }

  private drawTitle(): HTMLElement | string {
    const { summary, target } = this.item;
    // A span, not a button, because it is inside the clickable row. Keyboard users open the file by the link in
    // the expanded card.
    return target === "" ? summary : h("span", { class: "path", "data-open": target, title: `Open ${target}` }, ...pathParts(summary));
  }

  private drawOutcome(): (HTMLElement | string)[] {
    const { outcome, allowed, sinceMs } = this.item;
    const words = [outcome, allowed].filter((part) => part !== "").join(" · ");
    if (sinceMs === null) return [words];
    return [words === "" ? "" : `${words} · `, clockElement(sinceMs)];
  }

  private drawQuick(): void {
    const { id, killable } = this.item;
    const { send, isReadOnly } = this.context;
    if (this.quick.dataset["of"] === (killable ?? "")) return; // unchanged: a focused button must keep the focus
    this.quick.dataset["of"] = killable ?? "";
    this.quick.hidden = killable === null;
    this.quick.replaceChildren(...(killable === null ? [] : [
      iconButton("terminal", "Show in Terminal", () => { send({ type: "terminal", callId: id }); }),
      ...(isReadOnly() ? [] : [iconButton("debug-stop", "Stop this command", () => { send({ type: "kill", terminalId: killable }); })]),
    ]));
  }

  private drawBody(): void {
    const { item } = this;
    const isOpen = this.details.open;
    const text = isOpen || item.status === "running" ? plainOutput(item.output) : "";
    const isTail = !isOpen && item.status === "running" && text !== "";
    this.tail.hidden = !isTail;
    this.tail.textContent = isTail ? text.trimEnd().split("\n").slice(-TAIL_LINES).join("\n") : "";
    // Draw the text only in expanded cards, because a long session has thousands of cards.
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
    const { id, killable, hasTerminal, target } = this.item;
    const { send } = this.context;
    const state = `${hasTerminal} ${String(killable)} ${target}`;
    if (this.actions.dataset["state"] === state) return; // unchanged: a focused button must keep the focus
    this.actions.dataset["state"] = state;
    const buttons = [
      ...(target === "" ? [] : [textButton("Open File", () => { send({ type: "openFile", target }); }, { class: "link" })]),
      // While the command runs, these buttons are next to the row instead.
      ...(hasTerminal && killable === null ? [textButton("Show in Terminal", () => { send({ type: "terminal", callId: id }); }, { class: "link" })] : []),
    ];
    this.actions.hidden = buttons.length === 0;
    this.actions.replaceChildren(...buttons);
  }

  private empty(): void {
    this.given.replaceChildren();
    this.actions.replaceChildren();
    delete this.actions.dataset["state"];
    this.output.textContent = "";
    this.shownArguments = undefined;
  }
}
