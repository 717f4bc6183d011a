// The transcript: elements by item, texts that grow, and a scroll position that stays where the user put it.
import { byData, h, iconButton, textButton } from "./dom";
import type { Append, ItemView, TextView } from "./messages";
import { type RenderContext, itemElement } from "./render";
import { StreamedMarkdown } from "./stream";
import { ToolCard } from "./tool_card";

const NEAR_END_PX = 40;
const NEAR_START_PX = 600;
const MAX_ITEMS = 300; // kept in the page while its end is shown; earlier ones are asked for again
const AT_ONCE = 20; // items of a page that are drawn at once, the newest; the others a little at a time
const SLICE_MS = 12;

interface Shown {
  readonly index: number;
  element: HTMLElement;
  stream?: StreamedMarkdown;
  card?: ToolCard;
}

export class Transcript {
  readonly element: HTMLElement;
  private readonly shown = new Map<string, Shown>();
  private readonly list: HTMLElement;
  private readonly more: HTMLElement;
  private readonly content: HTMLElement;
  private readonly toEndButton: HTMLElement;
  private first = 0;
  private hasMore = false;
  private isAsking = false;
  /** Drawing in slices; a new reset makes the ones before stop. */
  private drawing = 0;
  /** At the end, and to stay there: whatever grows, until the user scrolls away. */
  private sticks = true;

  constructor(private readonly context: RenderContext) {
    this.more = h("div", { class: "more", hidden: true }, textButton("Show Earlier", () => { this.askMore(); }, { class: "link" }));
    // Not live: a screen reader would read every piece of a stream; announce.ts says what matters.
    this.list = h("section", { id: "transcript", role: "log", "aria-live": "off", "aria-label": "Conversation", tabindex: 0 });
    this.content = h("div", {}, this.more);
    this.list.append(this.content);
    this.toEndButton = iconButton("arrow-down", "Go to the end", () => { this.toEnd(); }, { class: "icon to-end", hidden: true });
    this.element = h("div", { id: "conversation" }, this.list, this.toEndButton);
    this.list.addEventListener("scroll", () => { this.onScroll(); }, { passive: true });
    const grown = new ResizeObserver(() => { if (this.sticks) this.toEnd(); });
    grown.observe(this.content);
    grown.observe(this.list);
    this.list.addEventListener("click", onClick(context));
  }

  get isEmpty(): boolean {
    return this.shown.size === 0;
  }

  /** What is shown while there is nothing else. */
  showInstead(element: HTMLElement): void {
    this.list.append(element);
  }

  /** All anew. `drawn` is called when every item is there. */
  reset(items: readonly ItemView[], first: number, hasMore: boolean, drawn: () => void): void {
    this.shown.clear();
    this.content.replaceChildren(this.more);
    this.isAsking = false;
    this.setFirst(first, hasMore);
    for (const item of items.slice(-AT_ONCE)) this.show(item);
    this.toEnd();
    this.drawOlder(items.slice(0, -AT_ONCE), drawn);
  }

  earlier(items: readonly ItemView[], first: number, hasMore: boolean): void {
    this.drawOlder(items, () => {
      this.isAsking = false;
      this.setFirst(first, hasMore);
      this.onScroll();
    });
  }

  /** Draws what changed, and stays at the end if it was there. */
  update(items: readonly ItemView[], appends: readonly Append[]): void {
    for (const item of items) this.show(item);
    for (const append of appends) this.append(append);
    if (!this.sticks) return;
    this.trim();
    this.toEnd();
  }

  toEnd(): void {
    this.sticks = true;
    this.toEndButton.hidden = true;
    this.list.scrollTop = this.list.scrollHeight;
  }

  /** The item at the top of the window and how far it is scrolled; undefined: at the end. */
  get anchor(): { id: string; offset: number } | undefined {
    if (this.sticks) return undefined;
    const top = this.list.scrollTop;
    for (const element of this.content.querySelectorAll<HTMLElement>(":scope > [data-id]")) {
      if (element.offsetTop + element.offsetHeight > top) return { id: element.dataset["id"] ?? "", offset: top - element.offsetTop };
    }
    return undefined;
  }

  restore(anchor: { id: string; offset: number }): void {
    const shown = this.shown.get(anchor.id);
    if (!shown) return;
    this.sticks = false;
    this.list.scrollTop = shown.element.offsetTop + anchor.offset;
  }

  /** Brings the oldest question into view, and the focus to its first answer. */
  toQuestion(): void {
    const question = this.list.querySelector<HTMLElement>(".approval.pending");
    question?.scrollIntoView({ block: "center" });
    question?.querySelector("button")?.focus({ preventScroll: true });
  }

  private onScroll(): void {
    const { scrollHeight, scrollTop, clientHeight } = this.list;
    if (clientHeight === 0) return; // nothing is laid out
    this.sticks = scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
    this.toEndButton.hidden = this.sticks;
    if (!this.sticks && scrollTop < NEAR_START_PX) this.askMore();
  }

  private askMore(): void {
    if (this.isAsking || !this.hasMore) return;
    this.isAsking = true;
    this.context.send({ type: "earlier", before: this.first });
  }

  private setFirst(first: number, hasMore: boolean): void {
    this.first = first;
    this.hasMore = hasMore;
    this.more.hidden = !hasMore;
  }

  /** Draws items before those that are there, newest first, a little at a time; what is in view does not move. */
  private drawOlder(items: readonly ItemView[], done: () => void): void {
    const mine = ++this.drawing;
    const left = [...items];
    const slice = () => {
      if (mine !== this.drawing) return;
      const startMs = performance.now();
      const made: HTMLElement[] = [];
      while (left.length > 0 && performance.now() - startMs < SLICE_MS) {
        const item = left.pop();
        if (item && !this.shown.has(item.id)) made.unshift(this.make(item));
      }
      this.insertFirst(made);
      if (left.length > 0) setTimeout(slice, 0);
      else done();
    };
    slice();
  }

  private insertFirst(elements: readonly HTMLElement[]): void {
    if (elements.length === 0) return;
    const top = this.more.nextElementSibling;
    const before = top?.getBoundingClientRect().top ?? 0;
    this.more.after(...elements);
    if (this.sticks) this.toEnd();
    else if (top) this.list.scrollTop += top.getBoundingClientRect().top - before;
  }

  private append({ id, text, open }: Append): void {
    const shown = this.shown.get(id);
    shown?.stream?.append(text, open);
    shown?.element.classList.toggle("open", open);
    const label = open ? null : shown?.element.querySelector("summary.thought");
    if (label) label.textContent = "Thought";
  }

  private show(item: ItemView): void {
    const before = this.shown.get(item.id);
    if (before?.card && item.kind === "tool") {
      before.card.update(item);
      return;
    }
    const focused = before && focusedAction(before.element);
    const made = this.make(item);
    if (before) before.element.replaceWith(made);
    else this.content.append(made);
    if (focused !== undefined) byData(made, "action", focused)?.focus();
  }

  private make(item: ItemView): HTMLElement {
    const made = this.parts(item);
    made.element.dataset["id"] = item.id;
    this.shown.set(item.id, { index: item.index, ...made });
    return made.element;
  }

  private parts(item: ItemView): Omit<Shown, "index"> {
    if (isText(item)) return this.text(item);
    if (item.kind === "tool") {
      const card = new ToolCard(item, this.context);
      return { element: card.element, card };
    }
    return { element: itemElement(item, this.context) };
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
      this.context.expanded.delete(id);
    }
    this.setFirst((old.at(-1)?.[1].index ?? -1) + 1, true);
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
    const link = target?.closest<HTMLElement>("[data-open], [data-link]");
    if (link) {
      event.preventDefault();
      const { open, link: url } = link.dataset;
      send(url === undefined ? { type: "openFile", target: open ?? "" } : { type: "openLink", url });
    }
    const code = target?.closest("[data-copy]") ? target.closest(".code")?.querySelector("code") : null;
    if (code) void navigator.clipboard.writeText(code.textContent);
  };
}
