// One item of the transcript as an element. It asks nobody; what the user does is sent.
import { approvalElement } from "./approval";
import { diffElement, diffLines } from "./diff";
import { h, icon, iconButton, plural, textButton } from "./dom";
import { compactionElement, questionElement, revertedElement, subagentElement } from "./render_more";
import type { EndView, FileView, FromView, ItemView, TextView, ToolView } from "./messages";

export interface RenderContext {
  readonly send: (message: FromView) => void;
  /** Opened or closed by the user: kept over redraws and reloads. */
  readonly expanded: Map<string, boolean>;
  /** Another process owns the session: its user answers. */
  readonly isReadOnly: () => boolean;
  /** Hides or shows what a subagent does. */
  fold: (agentId: string, isHidden: boolean) => void;
}

const OPEN_DIFF_LINES = 24; // a longer change opens with a click

const FILE_ICONS: Record<FileView["action"], string> = { create: "diff-added", modify: "diff-modified", delete: "diff-removed" };
const STATE_WORDS: Readonly<Record<string, string>> = { pending: "to review", proposed: "waits for you", edited: "edited by you", stale: "no longer placeable" };
const NOTICE_ICONS = { info: "info", warn: "warning", error: "error" } as const;

/** What opens with a click; its body is made when it is open. */
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

function judgeButtons(ids: readonly string[], what: string, { send }: RenderContext): HTMLElement | null {
  if (ids.length === 0) return null;
  const judge = (verdict: "keep" | "undo") => () => { send({ type: "review", hunkIds: ids, verdict }); };
  return h(
    "span",
    { class: "judge" },
    iconButton("check", `Keep ${what}`, judge("keep"), { "data-action": "keep" }),
    iconButton("discard", `Undo ${what}`, judge("undo"), { "data-action": "undo" }),
  );
}

function pathButton(uri: string, path: string, { send }: RenderContext): HTMLElement {
  return h("button", { type: "button", class: "link path", title: `Open ${path}`, "data-action": `open ${uri}`, onClick: () => { send({ type: "openFile", target: uri }); } }, path);
}

function counts({ added, removed }: { readonly added: number; readonly removed: number }): HTMLElement {
  return h("span", { class: "counts" }, h("span", { class: "plus" }, `+${added}`), " ", h("span", { class: "minus" }, `−${removed}`));
}

function file(item: FileView, context: RenderContext): HTMLElement {
  const states = item.states.map(({ state, count }) => `${count} ${STATE_WORDS[state] ?? state}`).join(" · ");
  const head = h(
    "div",
    { class: "head" },
    icon(FILE_ICONS[item.action]),
    pathButton(item.uri, item.path, context),
    counts(item),
    h("span", { class: "outcome dim" }, states),
    judgeButtons(item.openIds, `this change of ${item.path}`, context),
  );
  const lines = diffLines(item.diff).length;
  const diff = lines === 0 ? null : details(item.id, lines <= OPEN_DIFF_LINES, context, h("summary", {}, plural(lines, "line")), () => diffElement(item.diff, `Change of ${item.path}`));
  return h("article", { class: "file", "aria-label": `Change of ${item.path}` }, head, diff);
}

function endOfTurn(item: EndView, context: RenderContext): HTMLElement {
  const { files, openIds } = item;
  const words = item.text === "" ? null : h("div", { class: "dim stopped" }, icon("circle-slash"), item.text);
  if (files.length === 0) return h("article", { class: "turn", "aria-label": "End of the turn" }, words);
  const rows = files.map((each) =>
    h("li", {}, icon(FILE_ICONS[each.action]), pathButton(each.uri, each.path, context), counts(each)));
  const sums = { added: files.reduce((sum, { added }) => sum + added, 0), removed: files.reduce((sum, { removed }) => sum + removed, 0) };
  const judge = (verdict: "keep" | "undo") => () => { context.send({ type: "review", hunkIds: openIds, verdict }); };
  const head = h(
    "div",
    { class: "head" },
    h("strong", {}, `${plural(files.length, "file")} changed`),
    counts(sums),
    h("span", { class: "grow" }),
    openIds.length > 0 && textButton("Keep", judge("keep"), { class: "link", "aria-label": "Keep all changes of this turn", "data-action": "keep" }),
    openIds.length > 0 && textButton("Undo", judge("undo"), { class: "link", "aria-label": "Undo all changes of this turn", "data-action": "undo" }),
  );
  return h("article", { class: "turn", "aria-label": "Files changed in this turn" }, words, h("div", { class: "box" }, head, h("ul", {}, ...rows)));
}

/** Everything but texts that stream and tools, which transcript.ts changes in place. */
export function itemElement(item: Exclude<ItemView, TextView | ToolView>, context: RenderContext): HTMLElement {
  switch (item.kind) {
    case "user": {
      const { turnId } = item;
      const back = turnId === undefined || item.isOut === true ? null : iconButton("discard", "Roll back to before this…", () => { context.send({ type: "rollBack", turnId }); }, { class: "icon back", "data-action": "back" });
      return h("article", { class: "user", "aria-label": "You" }, item.text, back);
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
      const state = { waiting: "waiting to be told", injected: "", removed: "taken back" }[item.status];
      const button = item.status === "waiting" ? textButton("Take Back", takeBack, { class: "link", "data-action": "unsteer" }) : null;
      const below = state === "" ? null : h("div", { class: "dim" }, state, " ", button);
      return h("article", { class: `user steer ${item.status}`, "aria-label": "You, while it worked" }, item.text, below);
    }
    case "file":
      return file(item, context);
    case "end":
      return endOfTurn(item, context);
    case "approval":
      return approvalElement(item, context.send, context.isReadOnly());
    case "retry":
      return h("article", { class: "notice" }, icon("sync"), `Trying again in ${Math.ceil(item.delayMs / 1000)} s (attempt ${item.attempt}): ${item.text}`);
    case "notice": {
      const hint = item.hint === undefined ? null : h("div", { class: "dim" }, item.hint);
      return h("article", { class: `notice ${item.level}` }, icon(NOTICE_ICONS[item.level]), h("div", {}, item.text, hint));
    }
  }
}
