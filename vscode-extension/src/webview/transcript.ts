// The transcript: a window on the session's items, and a scroll position that stays where the user put it.
// Only so many items are in the page; those before and after are fetched as one scrolls to them.
import { h, iconButton, textButton } from "./dom";
import { Entries } from "./entries";
import type { Append, ItemView } from "./messages";
import type { RenderContext } from "./render";

const NEAR_END_PX = 40;
const NEAR_EDGE_PX = 800;
const MAX_ITEMS = 200;
const AT_ONCE = 20; // items of a page that are drawn at once, the newest; the others a little at a time
const SLICE_MS = 10;

export class Transcript {
  readonly element: HTMLElement;
  private readonly entries: Entries;
  private readonly list: HTMLElement;
  private readonly more: HTMLElement;
  private readonly content: HTMLElement;
  private readonly toEndButton: HTMLElement;
  private first = 0;
  private last = -1;
  private hasMore = false;
  /** The newest item is in the page: what comes new is shown. */
  private hasEnd = true;
  private isAsking = false;
  /** Drawing a page in slices, and what is to be done after it. A new reset makes the slices before it stop. */
  private drawing = 0;
  private afterwards: (() => void)[] | undefined;
  /** At the end, and to stay there: whatever grows, until the user scrolls away. */
  private sticks = true;

  constructor(private readonly context: RenderContext) {
    this.entries = new Entries(context);
    this.more = h("div", { class: "more", hidden: true }, textButton("Show Earlier", () => { this.askEarlier(); }, { class: "link" }));
    // Not live: a screen reader would read every piece of a stream; announce.ts says what matters.
    this.list = h("section", { id: "transcript", role: "log", "aria-live": "off", "aria-label": "Conversation", tabindex: 0 });
    this.content = h("div", {}, this.more);
    this.list.append(this.content);
    this.toEndButton = iconButton("arrow-down", "Go to the end", () => { this.goToEnd(); }, { class: "icon to-end", hidden: true });
    this.element = h("div", { id: "conversation" }, this.list, this.toEndButton);
    this.list.addEventListener("scroll", () => { this.onScroll(); }, { passive: true });
    const grown = new ResizeObserver(() => { if (this.sticks) this.stick(); });
    grown.observe(this.content);
    grown.observe(this.list);
    this.list.addEventListener("click", onClick(context));
  }

  fold(agentId: string, isHidden: boolean): void {
    this.entries.fold(agentId, isHidden);
  }

  get isEmpty(): boolean {
    return this.entries.size === 0;
  }

  /** What is shown while there is nothing else. */
  showInstead(element: HTMLElement): void {
    this.list.append(element);
  }

  /** All anew: the newest page. `drawn` is called when every item is there. */
  reset(items: readonly ItemView[], first: number, hasMore: boolean, drawn: () => void): void {
    this.entries.clear();
    this.content.replaceChildren(this.more);
    this.isAsking = false;
    this.hasEnd = true;
    this.afterwards = undefined;
    this.last = items.at(-1)?.index ?? first - 1;
    this.setFirst(first, hasMore);
    for (const item of items.slice(-AT_ONCE)) this.content.append(this.entries.make(item));
    this.stick();
    this.inSlices(items.slice(0, -AT_ONCE).reverse(), (elements) => { this.insertBefore(elements.reverse()); }, drawn);
  }

  earlier(items: readonly ItemView[], first: number, hasMore: boolean): void {
    this.inSlices([...items].reverse(), (elements) => { this.insertBefore(elements.reverse()); }, () => {
      this.setFirst(first, hasMore);
      this.isAsking = false;
      const over = this.entries.drop(this.entries.size - MAX_ITEMS, "newest");
      if (over.length === 0) return;
      this.hasEnd = false;
      this.last = (over[0]?.index ?? 0) - 1;
    });
  }

  /** The page after the last item that is here. */
  later(items: readonly ItemView[], isEnd: boolean): void {
    this.inSlices(items, (elements) => { this.content.append(...elements); }, () => {
      this.last = items.at(-1)?.index ?? this.last;
      this.hasEnd = isEnd;
      this.isAsking = false;
      this.trimOldest();
    });
  }

  /** Draws what changed, and stays at the end if it was there. */
  update(items: readonly ItemView[], appends: readonly Append[]): void {
    if (this.afterwards) {
      this.afterwards.push(() => { this.update(items, appends); });
      return;
    }
    for (const item of items) if (!this.entries.update(item)) this.add(item);
    for (const append of appends) this.entries.append(append);
    if (!this.sticks) return;
    this.trimOldest();
    this.stick();
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
    const entry = this.entries.get(anchor.id);
    if (!entry) return;
    this.sticks = false;
    this.list.scrollTop = entry.element.offsetTop + anchor.offset;
  }

  /** Brings the oldest question into view, and the focus to its first answer. */
  toQuestion(): void {
    const question = this.list.querySelector<HTMLElement>(".approval.pending");
    if (!question) {
      this.goToEnd();
      return;
    }
    question.scrollIntoView({ block: "center" });
    question.querySelector("button")?.focus({ preventScroll: true });
  }

  private goToEnd(): void {
    if (this.hasEnd) {
      this.stick();
      return;
    }
    this.sticks = true;
    this.context.send({ type: "end" });
  }

  private stick(): void {
    this.sticks = true;
    this.toEndButton.hidden = true;
    this.list.scrollTop = this.list.scrollHeight;
  }

  private onScroll(): void {
    const { scrollHeight, scrollTop, clientHeight } = this.list;
    if (clientHeight === 0) return; // nothing is laid out
    const below = scrollHeight - scrollTop - clientHeight;
    this.sticks = this.hasEnd && below < NEAR_END_PX;
    this.toEndButton.hidden = this.sticks;
    if (!this.sticks && scrollTop < NEAR_EDGE_PX) this.askEarlier();
    else if (!this.hasEnd && below < NEAR_EDGE_PX) this.ask({ type: "later", after: this.last });
  }

  private askEarlier(): void {
    if (this.hasMore) this.ask({ type: "earlier", before: this.first });
  }

  private ask(message: Parameters<RenderContext["send"]>[0]): void {
    if (this.isAsking || this.afterwards) return;
    this.isAsking = true;
    this.context.send(message);
  }

  private setFirst(first: number, hasMore: boolean): void {
    this.first = first;
    this.hasMore = hasMore;
    this.more.hidden = !hasMore;
  }

  private add(item: ItemView): void {
    // What lies beyond the window comes with its page.
    if (!this.hasEnd || item.index < this.first) return;
    this.content.append(this.entries.make(item));
    this.last = Math.max(this.last, item.index);
  }

  private trimOldest(): void {
    const out = this.entries.drop(this.entries.size - MAX_ITEMS, "oldest");
    if (out.length > 0) this.setFirst((out.at(-1)?.index ?? -1) + 1, true);
  }

  /** Makes the elements of a page a little at a time; what comes meanwhile waits. */
  private inSlices(items: readonly ItemView[], insert: (elements: HTMLElement[]) => void, done: () => void): void {
    const mine = ++this.drawing;
    const waiting: (() => void)[] = (this.afterwards = this.afterwards ?? []);
    let at = 0;
    const slice = () => {
      if (mine !== this.drawing) return;
      const startMs = performance.now();
      const made: HTMLElement[] = [];
      for (; at < items.length && performance.now() - startMs < SLICE_MS; at++) {
        const item = items[at];
        if (item && !this.entries.get(item.id)) made.push(this.entries.make(item));
      }
      if (made.length > 0) insert(made);
      if (at < items.length) {
        setTimeout(slice, 0);
        return;
      }
      done();
      this.afterwards = undefined;
      for (const run of waiting) run();
    };
    slice();
  }

  /** Before all items; what is in view does not move. */
  private insertBefore(elements: readonly HTMLElement[]): void {
    const top = this.more.nextElementSibling;
    const before = this.sticks ? 0 : (top?.getBoundingClientRect().top ?? 0);
    this.more.after(...elements);
    if (this.sticks) this.stick();
    else if (top) this.list.scrollTop += top.getBoundingClientRect().top - before;
  }
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
