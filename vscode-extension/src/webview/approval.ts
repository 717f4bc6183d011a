// What the agent asks leave for, word for word, and the answers.
import { examples } from "../approvals/choices";
import { diffElement } from "./diff";
import { h, icon, textButton } from "./dom";
import type { ApprovalView, FromView } from "./messages";

type Send = (message: FromView) => void;

const SCOPES: Readonly<Record<string, string>> = { once: "once", turn: "for this turn", session: "for this session" };

function question(item: ApprovalView): string {
  if (item.trust !== "") return "Do you trust this folder?";
  if (item.command !== "") return "Run this command?";
  return item.files.length > 0 ? "Make this change?" : `Allow ${item.tool}?`;
}

function effect(item: ApprovalView): (HTMLElement | null)[] {
  if (item.trust !== "") return [h("p", {}, h("code", {}, item.trust))];
  if (item.command !== "") return [item.where === "" ? null : h("p", { class: "dim" }, item.where)];
  if (item.text !== "") {
    const text = h("pre", { class: "command", tabindex: 0, "aria-label": "What it is called with" }, item.text);
    return [text, item.where === "" ? null : h("p", { class: "dim" }, item.where)];
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

/** Of the first rule that has examples: those after it have the same, for longer. */
function ruleExamples(item: ApprovalView): HTMLElement[] {
  const told = item.rules.map(examples).find((sentences) => sentences.length > 0) ?? [];
  return told.map((sentence) => h("p", { class: "dim examples" }, sentence));
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
    this.element.replaceChildren(this.isEdited ? this.field : h("pre", { class: "command", tabindex: 0, "aria-label": "The command" }, this.command));
  }
}

function trustAnswers({ id: requestId }: ApprovalView, send: Send): HTMLElement {
  return h("div", { class: "answers" },
    textButton("Trust This Folder", () => { send({ type: "allow", requestId, ruleId: null }); }, { class: "primary", "data-action": "once" }),
    textButton("Do Not Trust It", () => { send({ type: "deny", requestId, reason: "" }); }, { class: "secondary" }));
}

function answers(item: ApprovalView, send: Send): readonly [Command | null, HTMLElement] {
  const requestId = item.id;
  if (item.trust !== "") return [null, trustAnswers(item, send)];
  const reason = h("input", { type: "text", class: "reason", "aria-label": "Reason for the model, when you deny", placeholder: "Reason, when you deny" });
  const deny = () => { send({ type: "deny", requestId, reason: reason.value.trim() }); };
  reason.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing) deny();
  });
  const allow = (ruleId: string | null) => () => {
    const replacement = command?.replacement;
    send({ type: "allow", requestId, ruleId, ...(replacement !== undefined && { command: replacement }) });
  };
  const once = textButton("Allow Once", allow(null), { class: "primary", "data-action": "once" });
  const rules = item.rules.map((rule) => textButton(ruleLabel(rule), allow(rule.id), { class: "secondary" }));
  const edit = textButton("Edit…", () => { command?.edit(!command.isEditing); }, { class: "secondary", title: "Run another command instead" });
  const command = item.command === "" ? null : new Command(item.command, () => {
    const isEditing = command?.isEditing === true;
    once.textContent = isEditing ? "Run This Instead" : "Allow Once";
    edit.textContent = isEditing ? "As It Was" : "Edit…";
    // A rule was offered for the command that was asked about, not for another.
    for (const rule of rules) rule.hidden = isEditing;
    if (!isEditing) edit.focus();
  }, allow(null));
  edit.hidden = command === null;
  const row = h("div", { class: "answers" }, once, edit, ...rules, h("div", { class: "deny" }, reason, textButton("Deny", deny, { class: "secondary" })));
  return [command, row];
}

export function approvalElement(item: ApprovalView, send: Send): HTMLElement {
  const titleId = `asked-${item.id}`;
  if (item.status !== "pending") {
    const isAllowed = item.status === "allow";
    if (item.trust !== "") return h("article", { class: "approval done" }, icon(isAllowed ? "check" : "circle-slash"), h("span", { class: "dim" }, isAllowed ? "Trusted: " : "Not trusted: "), item.trust);
    const words = isAllowed ? `Allowed ${SCOPES[item.scope] ?? item.scope}: ` : "Denied: ";
    const reason = item.reason === "" ? null : h("span", { class: "dim" }, ` — “${item.reason}”`);
    return h("article", { class: "approval done" }, icon(isAllowed ? "check" : "circle-slash"), h("span", { class: "dim" }, words), item.summary, reason);
  }
  const [command, row] = answers(item, send);
  return h(
    "section",
    { class: "approval pending", "aria-labelledby": titleId },
    h("h2", { id: titleId }, icon("question"), question(item)),
    command?.element,
    ...effect(item),
    item.why === "" ? null : h("p", { class: "dim" }, item.why),
    row,
    ...ruleExamples(item),
  );
}
