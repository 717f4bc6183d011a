// The list of sessions next to the chat. Sessions that are open in any program are listed first, with their
// activity.
import { describeOwner } from "../sessions/owners";
import type { SessionInfo } from "../connection/protocol";
import { formatAge, titleOf } from "../sessions/rows";
import { h, icon, textButton } from "../webview/dom";

/** A listed session. `owner` is set if another program has it open, even if this page may decide in it. */
export type Listed = SessionInfo;

export function isRunning({ live, owner }: Listed): boolean {
  return live || owner !== undefined;
}

export function asksUser({ activity }: Listed): boolean {
  return activity === "waiting";
}

function iconOf(info: Listed): string {
  if (asksUser(info)) return "bell-dot";
  if (info.activity === "working") return "loading codicon-modifier-spin";
  return isRunning(info) ? "circle-filled" : "history";
}

function row(info: Listed, isCurrent: boolean, nowMs: number, open: (info: Listed) => void): HTMLElement {
  const program = info.owner?.program ?? "";
  const doing = asksUser(info) ? "asks you" : info.activity === "working" ? "working" : "";
  const words = [doing, program, isRunning(info) ? "" : formatAge(Date.parse(info.updated), nowMs)].filter((word) => word !== "");
  const title = info.owner ? `Open in ${describeOwner(info.owner)}` : isRunning(info) ? "Open in this panel" : "Stored; it opens in this panel";
  const button = h(
    "button",
    { type: "button", class: "session", title, "aria-current": isCurrent ? "true" : undefined, "data-id": info.id, onClick: () => { open(info); } },
    icon(iconOf(info)),
    h("span", { class: "label" }, titleOf(info)),
    h("span", { class: "dim" }, words.join(" · ")),
  );
  if (asksUser(info)) button.classList.add("asks");
  return h("li", {}, button);
}

function group(title: string, id: string, rows: readonly HTMLElement[]): HTMLElement | null {
  return rows.length === 0 ? null : h("section", { "aria-labelledby": id }, h("h2", { id }, title), h("ul", {}, ...rows));
}

export class SessionList {
  readonly element = h("nav", { id: "sessions", "aria-label": "Sessions" });
  readonly button: HTMLButtonElement;
  private shown = "";

  constructor(
    private readonly open: (info: Listed) => void,
    private readonly create: () => void,
  ) {
    this.button = textButton("Sessions", () => { this.toggle(!this.isOpen); }, { id: "sessions-button", class: "secondary", "aria-expanded": "false", "aria-controls": "sessions" });
    this.element.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.toggle(false);
      else if (event.key === "ArrowDown" || event.key === "ArrowUp") this.move(event.key === "ArrowDown" ? 1 : -1);
      else return;
      event.preventDefault();
    });
  }

  get isOpen(): boolean {
    return document.body.classList.contains("list-open");
  }

  /** Opens or closes the list in a narrow window. A wide window always displays it. */
  toggle(isOpen: boolean): void {
    document.body.classList.toggle("list-open", isOpen);
    this.button.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) this.focus();
    else if (this.element.contains(document.activeElement)) this.button.focus();
  }

  focus(): void {
    (this.element.querySelector<HTMLElement>("[aria-current]") ?? this.element.querySelector<HTMLElement>("button"))?.focus();
  }

  show(sessions: readonly Listed[], currentId: string | undefined, nowMs: number): void {
    const waiting = sessions.filter(asksUser).length;
    this.button.textContent = waiting === 0 ? "Sessions" : `Sessions · ${waiting} ${waiting === 1 ? "asks" : "ask"} you`;
    const encoded = JSON.stringify([currentId, sessions.map((info) => [info, formatAge(Date.parse(info.updated), nowMs)])]);
    if (encoded === this.shown) return;
    this.shown = encoded;
    const active = document.activeElement;
    const focused = active instanceof HTMLElement && this.element.contains(active) ? (active.dataset["id"] ?? "") : undefined;
    const rows = (which: (info: Listed) => boolean) => sessions.filter(which).map((info) => row(info, info.id === currentId, nowMs, this.open));
    const parts = [group("Open now", "running", rows(isRunning)), group("Earlier", "stored", rows((info) => !isRunning(info)))];
    const none = sessions.length === 0 && h("p", { class: "dim" }, "There are no sessions yet. Start one here or in your editor.");
    const create = textButton("New Session", this.create, { class: "secondary", "data-id": "new" });
    this.element.replaceChildren(create, ...parts.filter((part) => part !== null), ...(none ? [none] : []));
    if (focused !== undefined) [...this.element.querySelectorAll<HTMLElement>("[data-id]")].find(({ dataset }) => dataset["id"] === focused)?.focus();
  }

  private move(by: 1 | -1): void {
    const buttons = [...this.element.querySelectorAll("button")];
    const at = buttons.findIndex((button) => button === document.activeElement);
    buttons.at((at + by + buttons.length) % buttons.length)?.focus();
  }
}
