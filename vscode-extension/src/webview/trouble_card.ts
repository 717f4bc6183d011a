// Renders a notice; a failure with actions is a card with buttons.
import type { NoticeItem } from "../snapshot/items";
import type { Action } from "../commands/failure_actions";
import { codeParts, h, icon, textButton } from "./dom";
import type { RenderContext } from "./render";

const ICONS = { info: "info", warn: "warning", error: "error" } as const;
const LABELS: Readonly<Record<Action, string>> = {
  setKey: "Set API Key…", retry: "Retry", continue: "Continue", manageTrust: "Manage Trust…", chooseModel: "Choose Model…",
  sendAgain: "Send Again", choosePython: "Choose Python…", showLog: "Show Log",
};

export function noticeElement({ level, text, hint, actions = [] }: NoticeItem, context: RenderContext): HTMLElement {
  const hintElement = hint === undefined ? null : h("div", { class: "dim" }, ...codeParts(hint));
  // Omit the hint of a failure whose first button is the next step. Retry alone helps only after the hint was followed.
  const why = level === "error" && actions[0] !== "retry" ? null : hintElement;
  if (actions.length === 0 || context.isReadOnly()) return h("article", { class: `notice ${level}` }, icon(ICONS[level]), h("div", {}, ...codeParts(text), hintElement));
  const act = (action: Action) => () => {
    if (action === "sendAgain") context.sendAgain();
    else context.send({ type: "act", action });
  };
  const buttons = actions.map((action, i) => textButton(LABELS[action], act(action), { class: i === 0 ? "primary" : "secondary", "data-action": action }));
  return h("article", { class: `trouble ${level}`, "aria-label": "A problem" }, h("div", { class: "words" }, icon(ICONS[level]), h("div", { title: hint }, ...codeParts(text))), why, h("div", { class: "answers" }, ...buttons));
}
