// Helpers that create elements. Text is always set as text, never as HTML.

type Child = Node | string | null | undefined | false;
type Props = Readonly<Record<string, string | number | boolean | ((event: Event) => void) | undefined>>;

/** Creates an element. `on…` functions become listeners; true and false set and omit attributes. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props = {}, ...children: readonly Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2).toLowerCase(), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== null && child !== undefined && child !== false) element.append(child);
  return element;
}

/** Creates a codicon, which is hidden from screen readers. */
export function icon(name: string): HTMLElement {
  return h("span", { class: `codicon codicon-${name}`, "aria-hidden": "true" });
}

export function iconButton(name: string, label: string, onClick: () => void, extra: Props = {}): HTMLButtonElement {
  return h("button", { type: "button", class: "icon", title: label, "aria-label": label, onClick, ...extra }, icon(name));
}

export function textButton(label: string, onClick: (event: Event) => void, extra: Props = {}): HTMLButtonElement {
  return h("button", { type: "button", onClick, ...extra }, label);
}

/** Finds the descendant with this `data-` value; the value is escaped. */
export function findByData(root: Element, name: string, value: string): HTMLElement | undefined {
  return [...root.querySelectorAll<HTMLElement>(`[data-${name}]`)].find((element) => element.dataset[name] === value);
}

/**
 * Makes the text of an approval request fully visible: replaces characters that hide text or change its direction by
 * visible signs.
 */
export function revealHiddenCharacters(text: string): string {
  return text.replace(/[\x00-\x08\x0b-\x1f]/g, (char) => String.fromCharCode(0x2400 + char.charCodeAt(0)))
    .replace(/[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, "\ufffd");
}

export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
