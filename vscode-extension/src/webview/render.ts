// One item of the transcript as an element. It asks nobody; what the user does is sent.
import { approvalElement } from "./approval";
import { diffElement, diffLines } from "./diff";
import { h, icon, iconButton, plural, textButton } from "./dom";
import type { FileView, FromView, ItemView, TextView, ToolView } from "./messages";

export interface RenderContext {
  readonly send: (message: FromView) => void;
  /** Opened or closed by the user: kept over redraws and reloads. */
  readonly expanded: Map<string, boolean>;
}

const OPEN_DIFF_LINES = 24; // a longer change opens with a click

const TOOL_ICONS: Record<ToolView["status"], string> = { writing: "edit", running: "loading codicon-modifier-spin", done: "check", failed: "error" };
const TOOL_WORDS: Record<ToolView["status"], string> = { writing: "is being written", running: "is running", done: "done", failed: "failed" };
const FILE_ICONS: Record<FileView["action"], string> = { create: "diff-added", modify: "diff-modified", delete: "diff-removed" };
const STATE_WORDS: Readonly<Record<string, string>> = { pending: "to review", edited: "edited by you", stale: "no longer placeable" };
const NOTICE_ICONS = { info: "info", warn: "warning", error: "error" } as const;

function details(id: string, isOpen: boolean, context: RenderContext, summary: HTMLElement, ...body: readonly (HTMLElement | null)[]): HTMLDetailsElement {
  const element = h("details", { open: context.expanded.get(id) ?? isOpen }, summary, ...body);
  element.addEventListener("toggle", () => context.expanded.set(id, element.open));
  return element;
}

/** What a terminal obeys: colours, cursor moves, titles. */
const ESCAPES = /\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])/g;

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
  if (typeof parsed !== "object" || parsed === null) return h("pre", { class: "output", tabindex: 0 }, text);
  const rows = Object.entries(parsed).map(([name, value]) => [h("dt", {}, name), h("dd", {}, typeof value === "string" ? value : JSON.stringify(value))]);
  return h("dl", { class: "arguments" }, ...rows.flat());
}

function toolActions(item: ToolView, { send }: RenderContext): HTMLElement | null {
  const { killable } = item;
  if (!item.hasTerminal) return null;
  return h(
    "div",
    { class: "actions" },
    textButton("Show in Terminal", () => { send({ type: "terminal", callId: item.id }); }, { class: "link" }),
    killable !== null && textButton("End It", () => { send({ type: "kill", terminalId: killable }); }, { class: "link" }),
  );
}

function tool(item: ToolView, context: RenderContext): HTMLElement {
  const output = plainOutput(item.output);
  const label = `${item.name} ${item.summary} ${TOOL_WORDS[item.status]}`;
  const summary = h(
    "summary",
    {},
    icon(TOOL_ICONS[item.status]),
    h("span", { class: "sr-only" }, `${TOOL_WORDS[item.status]}: `),
    h("strong", {}, item.name),
    h("span", { class: "what" }, item.summary),
    h("span", { class: "outcome dim" }, item.outcome),
  );
  const body = [argumentRows(item.arguments), output === "" ? null : h("pre", { class: "output", tabindex: 0 }, output), toolActions(item, context)];
  const tail = item.status === "running" && output !== "" ? h("pre", { class: "output tail", "aria-hidden": "true" }, output.trimEnd().split("\n").slice(-4).join("\n")) : null;
  return h("article", { class: `tool ${item.status}`, "aria-label": label }, details(item.id, false, context, summary, ...body), tail);
}

function fileActions(item: FileView, { send }: RenderContext): (HTMLElement | null)[] {
  if (item.openIds.length === 0) return [];
  const judge = (verdict: "keep" | "undo") => () => { send({ type: "review", hunkIds: item.openIds, verdict }); };
  return [
    iconButton("check", `Keep this change of ${item.path}`, judge("keep"), { "data-action": "keep" }),
    iconButton("discard", `Undo this change of ${item.path}`, judge("undo"), { "data-action": "undo" }),
  ];
}

function file(item: FileView, context: RenderContext): HTMLElement {
  const states = item.states.map(({ state, count }) => `${count} ${STATE_WORDS[state] ?? state}`).join(" · ");
  const open = () => { context.send({ type: "openFile", target: item.uri }); };
  const head = h(
    "div",
    { class: "head" },
    icon(FILE_ICONS[item.action]),
    h("button", { type: "button", class: "link path", title: `Open ${item.path}`, "data-action": "open", onClick: open }, item.path),
    h("span", { class: "plus" }, `+${item.added}`),
    h("span", { class: "minus" }, `−${item.removed}`),
    h("span", { class: "outcome dim" }, states),
    ...fileActions(item, context),
  );
  const lines = diffLines(item.diff).length;
  const diff = lines === 0 ? null : details(item.id, lines <= OPEN_DIFF_LINES, context, h("summary", {}, plural(lines, "line")), diffElement(item.diff, `Change of ${item.path}`));
  return h("article", { class: "file", "aria-label": `Change of ${item.path}` }, head, diff);
}

/** Everything but texts that stream, which transcript.ts keeps by itself. */
export function itemElement(item: Exclude<ItemView, TextView>, context: RenderContext): HTMLElement {
  switch (item.kind) {
    case "user":
      return h("article", { class: "user", "aria-label": "You" }, item.text);
    case "steer": {
      const takeBack = () => { context.send({ type: "unsteer", steerId: item.id }); };
      const state = { waiting: "waiting to be told", injected: "", removed: "taken back" }[item.status];
      const button = item.status === "waiting" ? textButton("Take Back", takeBack, { class: "link", "data-action": "unsteer" }) : null;
      return h("article", { class: `user steer ${item.status}`, "aria-label": "You, while it worked" }, item.text, h("div", { class: "dim" }, state, " ", button));
    }
    case "tool":
      return tool(item, context);
    case "file":
      return file(item, context);
    case "approval":
      return approvalElement(item, context.send);
    case "retry":
      return h("article", { class: "notice" }, icon("sync"), `Trying again in ${Math.ceil(item.delayMs / 1000)} s (attempt ${item.attempt}): ${item.text}`);
    case "notice": {
      const hint = item.hint === undefined ? null : h("div", { class: "dim" }, item.hint);
      return h("article", { class: `notice ${item.level}` }, icon(NOTICE_ICONS[item.level]), h("div", {}, item.text, hint));
    }
  }
}
