// Helpers that create elements. Text is always set as text, never as HTML.

type Child = Node | string | null | undefined | false;
type Props = Readonly<Record<string, string | number | boolean | ((event: Event) => void) | undefined>>;

/** Creates an element. Functions named `on…` become listeners; true sets an attribute, false omits it. */
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

/** Creates the parts of a path, of which only the folders are shortened when there is little room. */
export function pathParts(path: string): readonly HTMLElement[] {
  const at = path.lastIndexOf("/") + 1;
  return [h("span", { class: "folders" }, path.slice(0, at)), h("span", {}, path.slice(at))];
}

/** Creates a text in which the parts between backticks are code. */
export function codeParts(text: string): readonly (HTMLElement | string)[] {
  return text.split(/(`[^`]*`)/).map((part) => (part.startsWith("`") ? h("code", {}, part.slice(1, -1)) : part));
}

/** Returns whether a key belongs to an input method, such as the Enter that chooses a word. */
export function isComposing(event: KeyboardEvent): boolean {
  // In Safari that Enter comes after the composition, and only its code differs from a plain one.
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- nothing else has this code
  return event.isComposing || event.keyCode === 229;
}

export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
