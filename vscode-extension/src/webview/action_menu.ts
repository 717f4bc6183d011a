// A button that opens a menu with further actions of a card. The menu supports the usual keys.
import { h, icon } from "./dom";

export interface Action {
  readonly label: string;
  /** Explanation; "" if the label suffices. */
  readonly detail: string;
  /** A longer explanation, shown for the pointer and read out with the label; "" if there is none. */
  readonly hint?: string;
  /** Whether the action itself moves the focus. Otherwise the focus returns to the button. */
  readonly keepsFocus?: boolean;
  readonly choose: () => void;
}

const GAP = 4; // pixels to the button, and to the edges of the page

let menus = 0;

export class ActionMenu {
  readonly button: HTMLButtonElement;
  /** The menu. It lies over the page, so that what the answer is about stays where it is. */
  readonly element: HTMLElement;
  private readonly items: HTMLButtonElement[];

  constructor(label: string, actions: readonly Action[]) {
    const id = `actions-${++menus}`;
    this.items = actions.map((action) => this.item(action));
    this.element = h("div", { id, class: "answer-menu", role: "menu", "aria-label": label, hidden: true }, ...this.items);
    this.button = h("button", { type: "button", class: "more", "aria-haspopup": "menu", "aria-expanded": "false", "aria-controls": id, "aria-label": label, title: label }, icon("chevron-down"));
    this.button.addEventListener("click", () => { if (this.isOpen) this.hide(); else this.show(0); });
    this.button.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
      event.preventDefault();
      this.show(event.key === "ArrowDown" ? 0 : this.items.length - 1);
    });
    this.element.addEventListener("keydown", (event) => { this.take(event); });
    this.element.addEventListener("focusout", ({ relatedTarget }) => {
      const isWithin = relatedTarget instanceof Node && (this.element.contains(relatedTarget) || relatedTarget === this.button);
      if (!isWithin) this.hide();
    });
  }

  get isOpen(): boolean {
    return !this.element.hidden;
  }

  private show(at: number): void {
    this.element.hidden = false;
    this.button.setAttribute("aria-expanded", "true");
    this.place();
    this.items[at]?.focus({ preventScroll: true });
    this.items[at]?.scrollIntoView({ block: "nearest" });
    addEventListener("scroll", this.place, true);
    addEventListener("resize", this.place);
  }

  private hide(): void {
    this.element.hidden = true;
    this.button.setAttribute("aria-expanded", "false");
    removeEventListener("scroll", this.place, true);
    removeEventListener("resize", this.place);
  }

  /** Puts the menu below its button, or above it if it only fits there; if it fits nowhere, where it has more room. */
  private readonly place = (): void => {
    if (!this.button.isConnected) {
      this.hide();
      return;
    }
    const at = (this.button.parentElement ?? this.button).getBoundingClientRect();
    const { scrollHeight, offsetWidth, offsetHeight, clientHeight, style } = this.element;
    const above = at.top - 2 * GAP, below = innerHeight - at.bottom - 2 * GAP;
    const height = scrollHeight + offsetHeight - clientHeight;
    const isBelow = height <= below || below >= above;
    const shown = Math.max(0, Math.min(height, isBelow ? below : above));
    style.maxHeight = `${shown}px`;
    style.top = `${isBelow ? at.bottom + GAP : at.top - GAP - shown}px`;
    style.left = `${Math.max(GAP, Math.min(at.left, innerWidth - offsetWidth - GAP))}px`;
  };

  private item({ label, detail, hint = "", keepsFocus, choose }: Action): HTMLButtonElement {
    const words = detail === "" ? null : h("span", { class: "dim detail" }, detail);
    const item = h("button", { type: "button", role: "menuitem", tabindex: -1, ...(hint !== "" && { title: hint, "aria-description": hint }) }, h("span", { class: "label" }, label), words);
    // Focus the row under the pointer, so that only one row is highlighted. Ignore a row that scrolls under a
    // resting pointer.
    item.addEventListener("mousemove", ({ movementX, movementY }) => { if (movementX !== 0 || movementY !== 0) item.focus({ preventScroll: true }); });
    item.addEventListener("click", () => {
      if (keepsFocus !== true) this.button.focus();
      this.hide();
      choose();
    });
    return item;
  }

  private take(event: KeyboardEvent): void {
    const last = this.items.length - 1;
    const at = this.items.findIndex((item) => item === event.target);
    const to: Readonly<Record<string, number>> = { ArrowDown: at === last ? 0 : at + 1, ArrowUp: at <= 0 ? last : at - 1, Home: 0, End: last };
    const next = to[event.key];
    if (next !== undefined) this.items[next]?.focus();
    else if (event.key === "Escape") {
      this.button.focus();
      this.hide();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
