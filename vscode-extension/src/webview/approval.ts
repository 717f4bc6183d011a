// What the agent asks leave for, word for word, and the answers.
import { diffElement } from "./diff";
import { h, icon, textButton } from "./dom";
import type { ApprovalView, FromView } from "./messages";

const SCOPES: Readonly<Record<string, string>> = { once: "once", turn: "for this turn", session: "for this session" };

function question(item: ApprovalView): string {
  if (item.command !== "") return "Run this command?";
  return item.files.length > 0 ? "Make this change?" : `Allow ${item.tool}?`;
}

function effect(item: ApprovalView): (HTMLElement | null)[] {
  if (item.command !== "") {
    return [h("pre", { class: "command", tabindex: 0 }, item.command), item.where === "" ? null : h("p", { class: "dim" }, item.where)];
  }
  if (item.files.length === 0 && item.paths.length === 0) return [h("p", {}, item.summary)];
  const files = item.files.map(({ path, action, diff }) =>
    h("div", {}, h("p", {}, `${action} `, h("code", {}, path)), diff === "" ? null : diffElement(diff, `Change of ${path}`)));
  return [...files, ...item.paths.map((path) => h("p", {}, h("code", {}, path)))];
}

function ruleLabel({ label, scope }: ApprovalView["rules"][number]): string {
  const words = SCOPES[scope] ?? scope;
  const told = /^allow\b/i.test(label) ? label : `Allow ${label}`;
  return told.includes(`this ${scope}`) ? told : `${told} (${words})`;
}

function answers(item: ApprovalView, send: (message: FromView) => void): HTMLElement {
  const requestId = item.id;
  const reason = h("input", { type: "text", class: "reason", "aria-label": "Reason for the model, when you deny", placeholder: "Reason, when you deny" });
  const deny = () => { send({ type: "deny", requestId, reason: reason.value.trim() }); };
  reason.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing) deny();
  });
  const rules = item.rules.map((rule) =>
    textButton(ruleLabel(rule), () => { send({ type: "allow", requestId, ruleId: rule.id }); }, { class: "secondary" }));
  const once = textButton("Allow Once", () => { send({ type: "allow", requestId, ruleId: null }); }, { class: "primary" });
  return h("div", { class: "answers" }, once, ...rules, h("div", { class: "deny" }, reason, textButton("Deny", deny, { class: "secondary" })));
}

export function approvalElement(item: ApprovalView, send: (message: FromView) => void): HTMLElement {
  const titleId = `asked-${item.index}`;
  if (item.status !== "pending") {
    const isAllowed = item.status === "allow";
    const words = isAllowed ? `Allowed ${SCOPES[item.scope] ?? item.scope}: ` : "Denied: ";
    const reason = item.reason === "" ? null : h("span", { class: "dim" }, ` — “${item.reason}”`);
    return h("article", { class: "approval done" }, icon(isAllowed ? "check" : "circle-slash"), h("span", { class: "dim" }, words), item.summary, reason);
  }
  return h(
    "section",
    { class: "approval pending", "aria-labelledby": titleId },
    h("h3", { id: titleId }, icon("question"), question(item)),
    ...effect(item),
    item.why === "" ? null : h("p", { class: "dim" }, item.why),
    answers(item, send),
  );
}
