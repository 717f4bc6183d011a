// The transcript: elements by item, texts that grow, and a scroll position that stays where the user put it.
import { h, textButton } from "./dom";
import { StreamedMarkdown } from "./markdown";
import type { ItemView, TextView } from "./messages";
import { type RenderContext, itemElement } from "./render";

const NEAR_END_PX = 40;
const MAX_ITEMS = 400; // kept in the page; earlier ones are asked for again

interface Shown {
  readonly index: number;
  element: HTMLElement;
  stream?: StreamedMarkdown;
}

export class Transcript {
  readonly element: HTMLElement;
  private readonly shown = new Map<string, Shown>();
  private readonly more: HTMLElement;
  private readonly content: HTMLElement;
  private first = 0;
  /** At the end, and to stay there: whatever grows, until the user scrolls away. */
  private sticks = true;

  constructor(private readonly context: RenderContext) {
    const askMore = () => { context.send({ type: "earlier", before: this.first }); };
    this.more = h("div", { class: "more", hidden: true }, textButton("Show Earlier", askMore, { class: "link" }));
    // Not live: a screen reader would read every piece of a stream; main.ts says what matters.
    this.element = h("section", { id: "transcript", role: "log", "aria-live": "off", "aria-label": "Conversation", tabindex: 0 });
    this.content = h("div", {}, this.more);
    this.element.append(this.content);
    this.element.addEventListener("scroll", () => { this.sticks = this.isNearEnd; }, { passive: true });
    const grown = new ResizeObserver(() => { if (this.sticks) this.toEnd(); });
    grown.observe(this.content);
    grown.observe(this.element);
    this.element.addEventListener("click", onClick(context));
  }

  get isEmpty(): boolean {
    return this.shown.size === 0;
  }

  reset(items: readonly ItemView[], first: number): void {
    this.shown.clear();
    this.content.replaceChildren(this.more);
    this.setFirst(first);
    for (const item of items) this.show(item);
    this.toEnd();
  }

  earlier(items: readonly ItemView[], first: number): void {
    const { scrollHeight, scrollTop } = this.element;
    const made = items.filter((item) => !this.shown.has(item.id)).map((item) => this.make(item));
    this.more.after(...made.map(({ element }) => element));
    this.setFirst(first);
    this.element.scrollTop = scrollTop + this.element.scrollHeight - scrollHeight;
  }

  /** Draws what changed, and stays at the end if it was there. */
  update(items: readonly ItemView[], appends: readonly { id: string; text: string; open: boolean }[]): void {
    for (const item of items) this.show(item);
    for (const { id, text, open } of appends) this.append(id, text, open);
    if (this.sticks) {
      this.trim();
      this.toEnd();
    }
  }

  toEnd(): void {
    this.sticks = true;
    this.element.scrollTop = this.element.scrollHeight;
  }

  /** The item at the top of the window and how far it is scrolled; undefined: at the end. */
  get anchor(): { id: string; offset: number } | undefined {
    if (this.sticks) return undefined;
    const top = this.element.scrollTop;
    for (const [id, { element }] of this.shown) {
      if (element.offsetTop + element.offsetHeight > top) return { id, offset: top - element.offsetTop };
    }
    return undefined;
  }

  restore(anchor: { id: string; offset: number }): void {
    const shown = this.shown.get(anchor.id);
    if (!shown) return;
    this.sticks = false;
    this.element.scrollTop = shown.element.offsetTop + anchor.offset;
  }

  /** Brings the oldest question into view, and the focus to its first answer. */
  toQuestion(): void {
    const question = this.element.querySelector<HTMLElement>(".approval.pending");
    question?.scrollIntoView({ block: "center" });
    question?.querySelector("button")?.focus({ preventScroll: true });
  }

  private get isNearEnd(): boolean {
    const { scrollHeight, scrollTop, clientHeight } = this.element;
    return scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
  }

  private setFirst(first: number): void {
    this.first = first;
    this.more.hidden = first === 0;
  }

  private append(id: string, text: string, isOpen: boolean): void {
    const shown = this.shown.get(id);
    shown?.stream?.append(text, isOpen);
    shown?.element.classList.toggle("open", isOpen);
    const label = isOpen ? null : shown?.element.querySelector("summary.thought");
    if (label) label.textContent = "Thought";
  }

  private show(item: ItemView): void {
    const before = this.shown.get(item.id);
    const focused = before && focusedAction(before.element);
    const made = this.make(item);
    if (before) before.element.replaceWith(made.element);
    else this.content.append(made.element);
    if (focused !== undefined) made.element.querySelector<HTMLElement>(`[data-action="${focused}"]`)?.focus();
  }

  private make(item: ItemView): Shown {
    const made = isText(item) ? this.text(item) : { element: itemElement(item, this.context) };
    made.element.dataset["id"] = item.id;
    const shown: Shown = { index: item.index, ...made };
    this.shown.set(item.id, shown);
    return shown;
  }

  private text(item: TextView): { element: HTMLElement; stream: StreamedMarkdown } {
    const stream = new StreamedMarkdown("markdown");
    stream.append(item.text, item.open);
    const state = `${item.open ? "open" : ""} ${item.interrupted ? "interrupted" : ""}`;
    if (item.kind === "text") return { element: h("article", { class: `text ${state}`, "aria-label": "agent" }, stream.element), stream };
    const { expanded } = this.context;
    const folded = h("details", { open: expanded.get(item.id) ?? false }, h("summary", { class: "dim thought" }, item.open ? "Thinking…" : "Thought"), stream.element);
    folded.addEventListener("toggle", () => expanded.set(item.id, folded.open));
    return { element: h("article", { class: `reasoning ${state}`, "aria-label": "What the model thought" }, folded), stream };
  }

  private trim(): void {
    const over = this.shown.size - MAX_ITEMS;
    if (over <= 0) return;
    const old = [...this.shown].sort(([, a], [, b]) => a.index - b.index).slice(0, over);
    for (const [id, { element }] of old) {
      element.remove();
      this.shown.delete(id);
    }
    this.setFirst((old.at(-1)?.[1].index ?? -1) + 1);
  }
}

function isText(item: ItemView): item is TextView {
  return item.kind === "text" || item.kind === "reasoning";
}

/** Which of an element's buttons has the focus: it has it again after a redraw. */
function focusedAction(element: HTMLElement): string | undefined {
  const active = document.activeElement;
  return active instanceof HTMLElement && element.contains(active) ? active.dataset["action"] : undefined;
}

function onClick({ send }: RenderContext): (event: Event) => void {
  return (event) => {
    const target = event.target instanceof Element ? event.target : null;
    const link = target?.closest<HTMLElement>("[data-open]");
    if (link) {
      event.preventDefault();
      send({ type: "openFile", target: link.dataset["open"] ?? "" });
    }
    const code = target?.closest("[data-copy]") ? target.closest(".code")?.querySelector("code") : null;
    if (code) void navigator.clipboard.writeText(code.textContent);
  };
}
