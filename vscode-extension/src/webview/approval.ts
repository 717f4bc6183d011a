// What the agent asks leave for, word for word, and the answers.
import { examples } from "../approvals/choices";
import { ActionMenu } from "./action_menu";
import { diffElement } from "./diff";
import { exact, h, icon, textButton } from "./dom";
import type { ApprovalView, FromView } from "./messages";

type Send = (message: FromView) => void;
type Rule = ApprovalView["rules"][number];

const SCOPES: Readonly<Record<string, string>> = { once: "once", turn: "for this turn", session: "for this session" };

function question(item: ApprovalView): string {
  if (item.trust !== "") return "Do you trust this folder?";
  if (item.command !== "") return "Run this command?";
  return item.files.length > 0 ? "Make this change?" : `Allow ${item.tool}?`;
}

function effect(item: ApprovalView): (HTMLElement | null)[] {
  if (item.trust !== "") return [h("p", {}, h("code", {}, exact(item.trust)))];
  if (item.command !== "") return [item.where === "" ? null : h("p", { class: "dim" }, exact(item.where))];
  if (item.text !== "") {
    const text = h("pre", { class: "command", tabindex: 0, "aria-label": "What it is called with" }, exact(item.text));
    return [text, item.where === "" ? null : h("p", { class: "dim" }, exact(item.where))];
  }
  if (item.files.length === 0 && item.paths.length === 0) return [h("p", {}, exact(item.summary))];
  const files = item.files.map(({ path, action, diff }) =>
    h("div", {}, h("p", {}, `${action} `, h("code", {}, exact(path))), diff === "" ? null : diffElement(diff, `Change of ${path}`)));
  return [...files, ...item.paths.map((path) => h("p", {}, h("code", {}, exact(path))))];
}

function ruleLabel({ label, scope }: Rule): string {
  const words = SCOPES[scope] ?? scope;
  const told = /^allow\b/i.test(label) ? label : `Allow ${label}`;
  return told.includes(`this ${scope}`) || told.includes("from now on") ? told : `${told} (${words})`;
}

/** The first that holds for the session: it has a button of its own. All others are behind the menu. */
function sessionRule(item: ApprovalView): Rule | undefined {
  return item.rules.find(({ scope }) => scope === "session");
}

/** What the button for the session allows, word for word, and by examples. */
function ruleTold(id: string, rule: Rule): HTMLElement {
  const told = [ruleLabel(rule), ...examples(rule)];
  return h("div", { id, class: "dim examples" }, ...told.map((sentence) => h("p", {}, sentence)));
}

/** The command as it is asked about, or as the user writes it instead. */
class Command {
  readonly element = h("div");
  private readonly field: HTMLTextAreaElement;
  private isEdited = false;

  constructor(
    private readonly command: string,
    private readonly onChange: () => void,
    onRun: () => void,
  ) {
    this.field = h("textarea", { class: "command", "aria-label": "The command to run instead", spellcheck: "false" });
    this.field.addEventListener("keydown", (event) => {
      if (event.isComposing) return;
      if (event.key === "Escape") this.edit(false);
      else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) onRun();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    this.draw();
  }

  /** What the user made of it; undefined: nothing. */
  get replacement(): string | undefined {
    return this.isEdited && this.field.value.trim() !== "" ? this.field.value : undefined;
  }

  get isEditing(): boolean {
    return this.isEdited;
  }

  edit(on: boolean): void {
    this.isEdited = on;
    this.draw();
    this.onChange();
    if (on) this.field.focus();
  }

  private draw(): void {
    this.field.value = this.command;
    this.field.rows = Math.min(12, this.command.split("\n").length + 1);
    this.element.replaceChildren(this.isEdited ? this.field : h("pre", { class: "command", tabindex: 0, "aria-label": "The command" }, exact(this.command)));
  }
}

/** The second click of a double click is no answer: the question that it hits may be the next one. */
function once(answer: () => void): (event: Event) => void {
  return (event) => { if (!(event instanceof UIEvent) || event.detail < 2) answer(); };
}

function trustAnswers({ id: requestId }: ApprovalView, send: Send): HTMLElement {
  return h("div", { class: "answers" },
    textButton("Trust This Folder", once(() => { send({ type: "allow", requestId, ruleId: null }); }), { class: "primary", "data-action": "once" }),
    textButton("Do Not Trust It", once(() => { send({ type: "deny", requestId, reason: "" }); }), { class: "secondary" }));
}

/** Why it is denied, for the model. Not there until it is asked for. */
function reasonField(deny: (reason: string) => void): { readonly row: HTMLElement; readonly field: HTMLInputElement } {
  const field = h("input", { type: "text", class: "reason", "aria-label": "Reason for the model", placeholder: "Reason, for the model" });
  const row = h("div", { class: "answers deny", hidden: true }, field);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing) deny(field.value.trim());
  });
  return { row, field };
}

/** The command, where it can be changed, and the answers: three buttons, and a menu with all others. */
function answers(item: ApprovalView, send: Send): readonly [Command | null, HTMLElement] {
  const requestId = item.id;
  if (item.trust !== "") return [null, trustAnswers(item, send)];
  const deny = (reason: string) => { send({ type: "deny", requestId, reason }); };
  const allow = (ruleId: string | null) => () => {
    const replacement = command?.replacement;
    send({ type: "allow", requestId, ruleId, ...(replacement !== undefined && { command: replacement }) });
  };
  const rule = sessionRule(item);
  const toldId = `rule-${item.id}`;
  const { row: reasonRow, field: reason } = reasonField(deny);
  const allowOnce = textButton("Allow Once", once(allow(null)), { class: "primary", "data-action": "once" });
  const session = rule && textButton("Allow for Session", once(allow(rule.id)), { class: "secondary", "data-action": "session", "aria-describedby": toldId });
  const told = rule && ruleTold(toldId, rule);
  const back = textButton("As It Was", () => { command?.edit(false); more.button.focus(); }, { class: "secondary", hidden: true });
  const command = item.command === "" ? null : new Command(item.command, () => {
    const isEditing = command?.isEditing === true;
    allowOnce.textContent = isEditing ? "Run This Instead" : "Allow Once";
    back.hidden = !isEditing;
    // A rule was offered for the command that was asked about, not for another.
    for (const part of [session, told, more.element]) if (part) part.hidden = isEditing;
  }, allow(null));
  const more = new ActionMenu("More Answers", [
    ...item.rules.filter((each) => each !== rule).map((each) => ({ label: ruleLabel(each), detail: examples(each).join(". "), choose: allow(each.id) })),
    ...(command ? [{ label: "Run Another Command Instead…", detail: "You change it; the model is told", keepsFocus: true, choose: () => { command.edit(true); } }] : []),
    { label: "Deny with a Reason…", detail: "The model is told why", keepsFocus: true, choose: () => { reasonRow.hidden = false; reason.focus(); } },
  ]);
  const buttons = h("div", { class: "answers" }, allowOnce, session, back, textButton("Deny", once(() => { deny(reason.value.trim()); }), { class: "secondary" }), more.button);
  return [command, h("div", {}, buttons, more.element, reasonRow, told)];
}

export function approvalElement(item: ApprovalView, send: Send, isReadOnly: boolean): HTMLElement {
  const titleId = `asked-${item.id}`;
  if (item.status !== "pending") {
    const isAllowed = item.status === "allow";
    if (item.trust !== "") return h("article", { class: "approval done" }, icon(isAllowed ? "check" : "circle-slash"), h("span", { class: "dim" }, isAllowed ? "Trusted: " : "Not trusted: "), item.trust);
    const words = isAllowed ? `Allowed ${SCOPES[item.scope] ?? item.scope}: ` : "Denied: ";
    const reason = item.reason === "" ? null : h("span", { class: "dim" }, ` — “${item.reason}”`);
    return h("article", { class: "approval done" }, icon(isAllowed ? "check" : "circle-slash"), h("span", { class: "dim" }, words), item.summary, reason);
  }
  const asked = () => [item.command === "" ? null : new Command(item.command, () => undefined, () => undefined), h("p", { class: "dim" }, "Its owner decides.")] as const;
  const [command, row] = isReadOnly ? asked() : answers(item, send);
  return h(
    "section",
    { class: "approval pending", "aria-labelledby": titleId },
    h("h2", { id: titleId }, icon("question"), question(item)),
    command?.element,
    ...effect(item),
    item.why === "" ? null : h("p", { class: "dim" }, item.why),
    row,
  );
}
