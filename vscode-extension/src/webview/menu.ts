// A list that is controlled by key presses in a focused field. Used for `@`, `/` and the model button.
import { h, icon } from "./dom";

export interface Entry {
  readonly icon: string;
  readonly label: string;
  readonly detail: string;
  readonly isCurrent?: boolean;
  readonly choose: () => void;
}

let menus = 0;

export class Menu {
  readonly element: HTMLElement;
  private readonly id = `menu-${++menus}`;
  private entries: readonly Entry[] = [];
  private at = 0;

  constructor(
    private readonly field: HTMLElement,
    label: string,
  ) {
    this.element = h("ul", { id: this.id, class: "menu", role: "listbox", "aria-label": label, hidden: true });
    field.setAttribute("aria-autocomplete", "list");
    field.setAttribute("aria-controls", this.id);
    // A multi-line field must keep its role, so only inputs become a combobox.
    if (field instanceof HTMLInputElement) field.setAttribute("role", "combobox");
    else this.element.tabIndex = 0; // focusable, because it scrolls
    this.setExpanded(false);
    // The field keeps the focus while the mouse is used.
    this.element.addEventListener("mousedown", (event) => { event.preventDefault(); });
  }

  get isOpen(): boolean {
    return !this.element.hidden;
  }

  show(entries: readonly Entry[]): void {
    if (entries.length === 0) {
      this.hide();
      return;
    }
    this.entries = entries;
    this.at = Math.max(0, entries.findIndex(({ isCurrent }) => isCurrent === true));
    this.element.replaceChildren(...entries.map((entry, i) => this.row(entry, i)));
    this.element.hidden = false;
    this.setExpanded(true);
    this.select(this.at);
  }

  hide(): void {
    this.element.hidden = true;
    this.entries = [];
    this.setExpanded(false);
    this.field.removeAttribute("aria-activedescendant");
  }

  /** Handles a key. Returns whether the list has used the key. */
  take(event: KeyboardEvent): boolean {
    if (!this.isOpen) return false;
    const pages: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };
    const by = pages[event.key];
    if (by !== undefined) this.select(Math.abs(by) === 1 ? (this.at + by + this.entries.length) % this.entries.length : Math.max(0, Math.min(this.entries.length - 1, this.at + by)));
    else if ((event.key === "Enter" && !event.shiftKey && !event.altKey && !event.ctrlKey) || event.key === "Tab") this.entries[this.at]?.choose();
    else if (event.key === "Escape") this.hide();
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  private setExpanded(is: boolean): void {
    if (this.field instanceof HTMLInputElement) this.field.setAttribute("aria-expanded", String(is));
  }

  private row({ icon: name, label, detail, isCurrent, choose }: Entry, i: number): HTMLElement {
    const row = h("li", { id: `${this.id}-${i}`, role: "option", "aria-selected": "false", title: detail === "" ? label : `${label} — ${detail}` }, icon(name), h("span", { class: "label" }, label), h("span", { class: "dim detail" }, detail), isCurrent === true && icon("check"));
    row.addEventListener("click", choose);
    return row;
  }

  private select(index: number): void {
    this.element.children[this.at]?.setAttribute("aria-selected", "false");
    this.at = index;
    const row = this.element.children[index];
    row?.setAttribute("aria-selected", "true");
    this.field.setAttribute("aria-activedescendant", `${this.id}-${index}`);
    row?.scrollIntoView({ block: "nearest" });
  }
}
