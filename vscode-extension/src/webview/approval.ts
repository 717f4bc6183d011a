// The card of an approval request: its exact effect, and the possible answers.
import { formatExamples } from "../approvals/choices";
import { ActionMenu } from "./action_menu";
import { decisiveLines, diffElement } from "./diff";
import { revealHiddenCharacters } from "../approvals/hidden_characters";
import { h, icon, isComposing, textButton } from "./dom";
import { highlightLater } from "./highlight";
import type { ApprovalView, FromView } from "./messages";

type Send = (message: FromView) => void;
type Rule = ApprovalView["rules"][number];

const SCOPES: Readonly<Record<string, string>> = { once: "once", turn: "for this turn", session: "for this session" };

const VERBS: Readonly<Record<string, string>> = { create: "Create", modify: "Edit", delete: "Delete", move: "Move" };

function question(item: ApprovalView): string {
  if (item.trust !== "") return "Do you trust this folder?";
  if (item.command !== "") return "Run this command?";
  if (item.paths.some((path) => /^https?:/.test(path))) return "Fetch this page?";
  return item.files.length > 0 ? "Make this change?" : `Allow ${item.tool}?`;
}

function effect(item: ApprovalView): (HTMLElement | null)[] {
  if (item.trust !== "") return [h("p", {}, h("code", {}, revealHiddenCharacters(item.trust)))];
  if (item.command !== "") return [];
  if (item.text !== "") return [];
  if (item.files.length === 0 && item.paths.length === 0) return [h("p", {}, revealHiddenCharacters(item.summary))];
  return item.paths.map((path) => h("p", {}, h("code", {}, revealHiddenCharacters(path))));
}

function ruleLabel({ label, scope }: Rule): string {
  const words = SCOPES[scope] ?? scope;
  const title = /^allow\b/i.test(label) ? label : `Allow ${label}`;
  return title.includes(`this ${scope}`) || title.includes("from now on") ? title : `${title} (${words})`;
}

/** Renders the working folder and the reason of the request on one line; null if there are none. */
function reasons({ where, why }: ApprovalView): HTMLElement | null {
  const words = [revealHiddenCharacters(where), why].filter((part) => part !== "").join(" · ");
  return words === "" ? null : h("p", { class: "dim reasons" }, words);
}

/** A box with what happens if the user allows it. Its end has to be in view once before that. */
class ReadBox {
  readonly element: HTMLElement;
  private readonly goesOn = h("p", { class: "dim reasons goes-on", "aria-live": "polite", hidden: true }, "It goes on: scroll to its end.");
  private isRead = false;
  private isHeldBack = false;

  constructor(private readonly box: HTMLElement) {
    this.element = h("div", { class: "to-read" }, this.box, this.goesOn);
    this.box.addEventListener("scroll", () => { this.check(); });
    new ResizeObserver(() => { this.check(); }).observe(this.box);
  }

  /** Returns whether the end has been in view. If not, scrolls on and says so. */
  readOn(): boolean {
    if (this.check() || this.isRead) return true;
    this.isHeldBack = true;
    this.goesOn.textContent = "Read it to its end, then answer again.";
    this.box.scrollTop += this.box.clientHeight * 0.8;
    return false;
  }

  /** Returns whether the end is in view. */
  private check(): boolean {
    const { scrollTop, clientHeight, scrollHeight } = this.box;
    const isAtEnd = scrollTop + clientHeight >= scrollHeight - 2;
    this.isRead ||= isAtEnd && clientHeight > 0; // a box that is not displayed has no height
    this.goesOn.hidden = isAtEnd && !this.isHeldBack;
    return isAtEnd;
  }
}

function textBox(label: string, content: HTMLElement | string): ReadBox {
  return new ReadBox(h("pre", { class: "command", tabindex: 0, "aria-label": label }, content));
}

/** Creates the box with all changes of files; null if there are none. */
function changesOf({ files }: ApprovalView): ReadBox | null {
  if (files.length === 0) return null;
  const rows = files.map(({ path, action, diff }) =>
    h("div", {}, h("p", {}, `${VERBS[action] ?? action} `, h("code", {}, revealHiddenCharacters(path))), diff === "" ? null : diffElement(decisiveLines(diff), `Change of ${path}`, 0, Infinity)));
  return new ReadBox(h("div", { class: "changes", tabindex: 0, role: "group", "aria-label": "The changes" }, ...rows));
}

/** The requested command, or the user's edited version. */
class Command {
  readonly element = h("div", { class: "to-read" });
  private readonly asked: ReadBox;
  private readonly field: HTMLTextAreaElement;
  private isEdited = false;

  constructor(
    private readonly command: string,
    private readonly onChange: () => void,
    onRun: () => void,
  ) {
    this.asked = textBox("The command", h("code", { class: "hljs", "data-language": "bash" }, revealHiddenCharacters(command)));
    this.field = h("textarea", { class: "command", "aria-label": "The command to run instead", spellcheck: "false" });
    this.field.addEventListener("keydown", (event) => {
      if (isComposing(event)) return;
      if (event.key === "Escape") this.edit(false);
      else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) onRun();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    this.draw();
  }

  /** The edited command; undefined if it is not being edited. */
  get replacement(): string | undefined {
    return this.isEdited && this.field.value.trim() !== "" ? this.field.value : undefined;
  }

  get isEditing(): boolean {
    return this.isEdited;
  }

  readOn(): boolean {
    return this.isEdited || this.asked.readOn();
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
    this.element.replaceChildren(this.isEdited ? this.field : this.asked.element);
    highlightLater(this.element);
  }
}

/** Wraps a click handler. Ignores the second click of a double click, which could answer the next request. */
function once(answer: () => void): (event: Event) => void {
  return (event) => { if (!(event instanceof UIEvent) || event.detail < 2) answer(); };
}

function trustAnswers({ id: requestId }: ApprovalView, send: Send): HTMLElement {
  return h("div", { class: "answers" },
    textButton("Trust This Folder", once(() => { send({ type: "allow", requestId, ruleId: null }); }), { class: "primary", "data-action": "once" }),
    textButton("Do Not Trust It", once(() => { send({ type: "deny", requestId, reason: "" }); }), { class: "secondary" }));
}

/** Creates the hidden input for the reason of a denial, which is sent to the model. Enter sends the denial. */
function reasonField(deny: (reason: string) => void): { readonly row: HTMLElement; readonly field: HTMLInputElement } {
  const field = h("input", { type: "text", class: "reason", "aria-label": "Reason for the model", placeholder: "Reason, for the model" });
  const row = h("div", { class: "answers deny", hidden: true }, field);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !isComposing(event)) deny(field.value.trim());
  });
  return { row, field };
}

const REACH = ["turn", "session", "project", "user"];

/** Sorts the rules by scope. Rules for the session are first, because they are used most. */
function sortByScope(rules: readonly Rule[]): Rule[] {
  const place = ({ scope }: Rule) => (scope === "session" ? -1 : REACH.indexOf(scope));
  return [...rules].sort((a, b) => place(a) - place(b));
}

/** Creates the box with the changes of files, or with all arguments of another call that is no command. */
function contentOf(item: ApprovalView): ReadBox | null {
  return item.text === "" || item.command !== "" ? changesOf(item) : textBox("Arguments of the call", revealHiddenCharacters(item.text));
}

/** Renders what runs, if something does, and the answers: two buttons, and a menu with the others. */
function answers(item: ApprovalView, send: Send): readonly [HTMLElement | undefined, HTMLElement] {
  const requestId = item.id;
  if (item.trust !== "") return [undefined, trustAnswers(item, send)];
  const deny = (reason: string) => { send({ type: "deny", requestId, reason }); };
  const allow = (ruleId: string | null) => () => {
    if ((command ?? content)?.readOn() === false) return;
    const replacement = command?.replacement;
    send({ type: "allow", requestId, ruleId, ...(replacement !== undefined && { command: replacement }) });
  };
  const { row: reasonRow, field: reason } = reasonField(deny);
  const allowOnce = textButton("Allow Once", once(allow(null)), { class: "primary", "data-action": "once" });
  const back = textButton("Restore Command", () => { command?.edit(false); more.button.focus(); }, { class: "secondary", hidden: true });
  const command = item.command === "" ? null : new Command(item.command, () => {
    const isEditing = command?.isEditing === true;
    allowOnce.textContent = isEditing ? "Run This Instead" : "Allow Once";
    back.hidden = !isEditing;
    // The rules in the menu apply to the requested command, not to an edited command.
    more.button.hidden = isEditing;
    if (isEditing) more.element.hidden = true;
  }, allow(null));
  const content = contentOf(item);
  const more = new ActionMenu("More Answers", [
    ...sortByScope(item.rules).map((each) => ({ label: ruleLabel(each), detail: "", hint: formatExamples(each).join("\n"), choose: allow(each.id) })),
    ...(command ? [{ label: "Run Another Command Instead…", detail: "You change the command; the model is sent your command", keepsFocus: true, choose: () => { command.edit(true); } }] : []),
    { label: "Deny with a Reason…", detail: "Your reason is sent to the model", keepsFocus: true, choose: () => { reasonRow.hidden = false; reason.focus(); } },
  ]);
  const buttons = h("div", { class: "answers" }, h("span", { class: "split" }, allowOnce, more.button), back, textButton("Deny", once(() => { deny(reason.value.trim()); }), { class: "secondary", "data-action": "deny" }));
  return [(command ?? content)?.element, h("div", {}, buttons, more.element, reasonRow)];
}

export function approvalElement(item: ApprovalView, send: Send, isReadOnly: boolean): HTMLElement {
  const titleId = `asked-${item.id}`;
  if (item.status !== "pending") {
    const isAllowed = item.status === "allow";
    if (item.isRedundant && item.instead === "") return h("article", { class: "approval done", hidden: true });
    if (item.trust !== "") return h("article", { class: "approval done" }, icon(isAllowed ? "check" : "circle-slash"), h("span", { class: "dim" }, isAllowed ? "Trusted: " : "Not trusted: "), item.trust);
    if (item.instead !== "") return h("article", { class: "approval done" }, icon("check"), h("span", { class: "dim" }, "Ran your command instead: "), item.instead);
    const words = isAllowed ? `Allowed ${SCOPES[item.scope] ?? item.scope}: ` : "Denied: ";
    const reason = item.reason === "" ? null : h("span", { class: "dim" }, ` — “${item.reason}”`);
    return h("article", { class: "approval done" }, icon(isAllowed ? "check" : "circle-slash"), h("span", { class: "dim" }, words), item.summary, reason);
  }
  const asked = () => [(item.command === "" ? contentOf(item) : new Command(item.command, () => undefined, () => undefined))?.element, h("p", { class: "dim" }, "The editor that owns this session decides.")] as const;
  const [runs, row] = isReadOnly ? asked() : answers(item, send);
  const card = h(
    "section",
    { class: "approval pending", "aria-labelledby": titleId },
    h("h2", { id: titleId }, icon("question"), question(item)),
    item.about === "" ? null : h("p", { class: "about" }, revealHiddenCharacters(item.about)),
    runs,
    ...effect(item),
    reasons(item),
    row,
  );
  // A held key must not answer a request that the user has not read.
  card.addEventListener("keydown", (event) => { if (event.repeat && event.key === "Enter" && event.target instanceof HTMLButtonElement) event.preventDefault(); });
  return card;
}
