// Renders one item of the transcript as an element; user actions are sent as messages.
import { approvalElement } from "./approval";
import { decisiveLines, diffElement } from "./diff";
import { codeParts, h, icon, iconButton, pathParts, plural, textButton } from "./dom";
import { compactionElement } from "./compaction_element";
import { questionElement } from "./question_element";
import { revertedElement } from "./rollback_element";
import { subagentElement } from "./subagent_element";
import { messageElements } from "./message_element";
import { noticeElement } from "./trouble_card";
import type { RetryItem } from "../snapshot/items";
import type { EndView, FactsView, FileView, FromView, ItemView, TextView, ToolView } from "./messages";

export interface RenderContext {
  readonly send: (message: FromView) => void;
  /** Items expanded or collapsed by the user, kept over redraws and reloads. */
  readonly expanded: Map<string, boolean>;
  /** Whether another process owns the session, so that requests are answered there. */
  readonly isReadOnly: () => boolean;
  /** Focuses the prompt. */
  readonly focusPrompt: () => void;
  /** Sends the prompt, after a message that could not be sent was put back there. */
  readonly sendAgain: () => void;
  /** Collapses or expands a subagent's items. */
  fold: (agentId: string, isHidden: boolean) => void;
  /** Shows or hides the row of a call, which is hidden at first because its changes have their own items. */
  toggleCall: (callId: string) => void;
}

function retryWords({ attempt, delayMs, text, hasFailed }: RetryItem): string {
  if (hasFailed === undefined) return `Trying again in ${Math.ceil(delayMs / 1000)} s (attempt ${attempt}): ${text}`;
  return hasFailed ? `Tried ${attempt + 1} times.` : `Tried again: ${text}`;
}

const OPEN_DIFF_LINES = 24; // longer diffs are collapsed

export const FILE_ICONS: Record<FileView["action"], string> = { create: "diff-added", modify: "edit", delete: "diff-removed" };
const PROPOSAL_WORDS: Readonly<Record<string, string>> = { proposed: "waits for you", kept: "accepted", undone: "rejected", gone: "dropped", stale: "no longer matches the file", pending: "accepted", edited: "accepted" };
const STATE_WORDS: Readonly<Record<string, string>> = { kept: "kept", undone: "undone", pending: "to review", proposed: "waits for you", edited: "edited by you", stale: "position unknown" };

/** Creates a collapsible element. Its body is created when the element is first expanded. */
function details(id: string, isOpen: boolean, context: RenderContext, summary: HTMLElement, body: () => HTMLElement): HTMLDetailsElement {
  const element = h("details", { open: context.expanded.get(id) ?? isOpen }, summary);
  const fill = () => { if (element.open && element.childElementCount === 1) element.append(body()); };
  element.addEventListener("toggle", () => {
    context.expanded.set(id, element.open);
    fill();
  });
  fill();
  return element;
}

const OUTCOMES: Readonly<Record<string, string>> = { kept: "all kept", undone: "all undone", decided: "all decided" };

/** The buttons of a proposal, for which the turn waits. Applied changes are decided in the bar and in the files. */
function proposalButtons(ids: readonly string[], what: string, { send }: RenderContext): HTMLElement | null {
  if (ids.length === 0) return null;
  const judge = (verdict: "keep" | "undo") => () => { send({ type: "review", hunkIds: ids, verdict }); };
  return h(
    "div",
    { class: "answers" },
    textButton("Accept", judge("keep"), { class: "primary", "data-action": "keep", "aria-label": `Accept ${what}` }),
    textButton("Reject", judge("undo"), { class: "secondary", "data-action": "undo", "aria-label": `Reject ${what}` }),
    textButton("Compare", () => { send({ type: "compare", hunkId: ids[0] ?? "" }); }, { class: "link", "data-action": "compare" }),
  );
}

export function pathButton(uri: string, path: string, { send }: RenderContext): HTMLElement {
  return h("button", { type: "button", class: "link path", title: `Open ${path}`, "data-action": `open ${uri}`, onClick: () => { send({ type: "openFile", target: uri }); } }, ...pathParts(path));
}

export function counts({ added, removed }: { readonly added: number; readonly removed: number }): HTMLElement {
  return h("span", { class: "counts" }, h("span", { class: "plus" }, `+${added}`), " ", h("span", { class: "minus" }, `−${removed}`));
}

/** Creates the label of a file with its path, or with both paths if it was moved. */
function fileLabel({ uri, path, movedFrom = "" }: { readonly uri: string; readonly path: string; readonly movedFrom?: string }, context: RenderContext): (HTMLElement | string)[] {
  if (movedFrom === "") return [pathButton(uri, path, context)];
  return [h("span", { class: "path dim", title: movedFrom }, ...pathParts(movedFrom)), h("span", { class: "dim" }, " → "), pathButton(uri, path, context)];
}

const FILE_VERBS: Record<FileView["action"], string> = { create: "Created", modify: "Edited", delete: "Deleted" };

function file(item: FileView, context: RenderContext): HTMLElement {
  const words = item.isProposed ? PROPOSAL_WORDS : STATE_WORDS;
  const states = item.states.map(({ state, count }) => (item.states.length === 1 && item.isProposed ? "" : `${count} `) + (words[state] ?? state)).join(" · ");
  const shown = decisiveLines(item.diff);
  const changed = shown.filter(({ sign }) => sign === "+" || sign === "-").length;
  const left = item.isCut ? Math.max(1, item.added + item.removed - changed) : 0;
  const lines = shown.filter(({ sign }) => sign !== "@").length + left;
  const head = h(
    "div",
    { class: "head" },
    icon(item.movedFrom === "" ? FILE_ICONS[item.action] : "diff-renamed"),
    h("span", { class: "verb" }, item.movedFrom !== "" ? "Renamed" : item.isProposed ? "Proposed" : FILE_VERBS[item.action]),
    ...fileLabel(item, context),
    item.movedFrom === "" ? counts(item) : null,
    h("span", { class: "grow" }),
    lines === 0 && h("span", { class: "outcome dim" }, states),
    item.callId === "" ? null : iconButton("json", `Show the tool call that changed ${item.path}`, () => { context.toggleCall(item.callId); }, { class: "icon call", "data-action": "call" }),
  );
  const diff = lines === 0 ? null : details(item.id, lines <= OPEN_DIFF_LINES && (item.openIds.length > 0 || item.isProposed), context, h("summary", {}, [plural(lines, "line"), states].filter((part) => part !== "").join(" · ")), () => diffElement(shown, `Change of ${item.path}`, left));
  return h("article", { class: "file", "aria-label": `Change of ${item.path}` }, head, diff, item.isProposed ? proposalButtons(item.openIds, `this change of ${item.path}`, context) : null);
}

const FACT_ICONS = { passed: "pass", failed: "error", none: "circle-outline" } as const;

function factsElement({ text, outcome, command }: FactsView, context: RenderContext): HTMLElement {
  const again = command !== "" && !context.isReadOnly() && textButton("Run Again", () => {
    context.send({ type: "submit", text: `Run \`${command}\` again.`, attachments: [], how: "queue" });
  }, { class: "link", title: command, "data-action": "check" });
  return h("p", { class: `evidence dim ${outcome}` }, icon(FACT_ICONS[outcome]), h("span", {}, ...codeParts(text), " ", again));
}

function endOfTurn(item: EndView, context: RenderContext): HTMLElement {
  const { files } = item;
  const goOn = item.canContinue && !context.isReadOnly() && textButton("Continue", () => { context.send({ type: "act", action: "continue" }); }, { class: "link", "data-action": "continue" });
  const words = item.text === "" ? null : h("div", { class: "dim stopped" }, icon("circle-slash"), item.text, " ", goOn);
  const facts = item.facts && factsElement(item.facts, context);
  if (files.length === 0 || item.isRedundant) return h("article", { class: "turn", "aria-label": "End of the turn", hidden: words === null && facts === null }, words, facts);
  const rows = files.map((each) =>
    h("li", {}, icon(each.movedFrom === undefined ? FILE_ICONS[each.action] : "diff-renamed"), ...fileLabel(each, context), each.movedFrom === undefined ? counts(each) : null));
  const sums = { added: files.reduce((sum, { added }) => sum + added, 0), removed: files.reduce((sum, { removed }) => sum + removed, 0) };
  const head = h(
    "div",
    { class: "head" },
    h("strong", {}, `${plural(files.length, "file")} changed`),
    counts(sums),
    item.outcome === "" ? null : h("span", { class: "dim" }, OUTCOMES[item.outcome] ?? ""),
  );
  return h("article", { class: "turn", "aria-label": "Files changed in this turn" }, words, h("div", { class: "box" }, head, h("ul", {}, ...rows)), facts);
}

/** Renders all items except streamed texts and tools, which transcript.ts updates in place. */
export function itemElement(item: Exclude<ItemView, TextView | ToolView>, context: RenderContext): HTMLElement {
  switch (item.kind) {
    case "user": {
      const { turnId } = item;
      const back = turnId === undefined || item.isOut === true ? null : iconButton("discard", "Roll back to before this…", () => { context.send({ type: "rollBack", turnId }); }, { class: "icon back", "data-action": "back" });
      return h("article", { class: "user", "aria-label": "You" }, ...messageElements(item.id, item.message, context), back);
    }
    case "question":
      return questionElement(item, context);
    case "subagent":
      return subagentElement(item, context, (open) => { context.fold(item.id, !open); });
    case "compaction":
      return compactionElement(item);
    case "reverted":
      return revertedElement(item, context);
    case "steer": {
      const takeBack = () => { context.send({ type: "unsteer", steerId: item.id }); };
      const state = { waiting: "The message is sent at the next step.", injected: "", removed: "cancelled" }[item.status];
      const button = item.status === "waiting" ? textButton("Cancel", takeBack, { class: "link", "data-action": "unsteer" }) : null;
      const below = state === "" ? null : h("div", { class: "dim" }, state, " ", button);
      return h("article", { class: `user steer ${item.status}`, "aria-label": "You, while it worked" }, ...messageElements(item.id, item.message, context), below);
    }
    case "file":
      return file(item, context);
    case "end":
      return endOfTurn(item, context);
    case "approval":
      return approvalElement(item, context.send, context.isReadOnly());
    case "retry":
      return h("article", { class: "notice" }, icon("sync"), retryWords(item));
    case "notice":
      return noticeElement(item, context);
  }
}
