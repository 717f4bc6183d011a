// The transcript: displays a section of the session's items and keeps the scroll position. The page has a limited number
// of items; earlier and later items are fetched while the user scrolls.
import { h, iconButton, textButton } from "./dom";
import { Entries } from "./entries";
import { Groups } from "./groups";
import type { Append, ItemView, SessionView } from "./messages";
import type { RenderContext } from "./render";
import { Tail } from "./tail";

const NEAR_END_PX = 40;
const NEAR_EDGE_PX = 800;
const MAX_ITEMS = 200;
const AT_ONCE = 20; // number of the newest items that are drawn at once; the others are drawn in slices
const SLICE_MS = 10;

export class Transcript {
  readonly element: HTMLElement;
  private readonly entries: Entries;
  private readonly groups: Groups;
  private readonly list: HTMLElement;
  private readonly more: HTMLElement;
  private readonly content: HTMLElement;
  private readonly tail: Tail;
  private width = 0;
  /** The last scroll position of the list. */
  private top = 0;
  private readonly toEndButton: HTMLElement;
  private first = 0;
  private last = -1;
  private hasMore = false;
  /** Whether the newest item is in the page, so that new ones are displayed. */
  private hasEnd = true;
  private isAsking = false;
  /** Number of the current drawing in slices; a new reset stops the slices of an earlier one. */
  private drawing = 0;
  private afterwards: (() => void)[] | undefined;
  /** Whether to stay at the end until the user scrolls away. */
  private sticks = true;

  constructor(private readonly context: RenderContext) {
    this.entries = new Entries(context);
    this.groups = new Groups(context.expanded);
    this.more = h("div", { class: "more", hidden: true }, textButton("Show Earlier", () => { this.askEarlier(); }, { class: "link" }));
    // Not a live region, because a screen reader would read every delta. announce.ts makes the announcements.
    this.list = h("section", { id: "transcript", role: "log", "aria-live": "off", "aria-label": "Conversation", tabindex: 0 });
    this.content = h("div", {}, this.more);
    this.tail = new Tail(context);
    this.list.append(this.content, this.tail.element);
    this.toEndButton = iconButton("arrow-down", "Go to the end", () => { this.goToEnd(); }, { class: "icon to-end", hidden: true });
    this.element = h("div", { id: "conversation" }, this.list, this.toEndButton);
    this.list.addEventListener("scroll", () => { this.onScroll(); }, { passive: true });
    const grown = new ResizeObserver(() => {
      this.list.style.setProperty("--room", `${this.list.clientHeight}px`);
      if (this.sticks && !this.hasOpenMenu) this.stick();
    });
    grown.observe(this.content);
    grown.observe(this.list);
    grown.observe(this.tail.element);
    this.list.addEventListener("click", onClick(context));
  }

  fold(agentId: string, isHidden: boolean): void {
    this.entries.fold(agentId, isHidden);
  }

  /** Shows or hides the row of a call, which is hidden at first because its changes have their own items. */
  toggleCall(callId: string): void {
    this.entries.toggleCall(callId);
  }

  get isEmpty(): boolean {
    return this.entries.size === 0 && this.tail.isEmpty;
  }

  /** Shows the message being sent, and the agent's activity. */
  showNow(session: SessionView): void {
    this.tail.show(session);
  }

  /** Scrolls to the end, to show the message just sent. */
  follow(): void {
    this.goToEnd();
  }

  /** Whether the menu of a card is open. The scroll position must not change then. */
  private get hasOpenMenu(): boolean {
    return this.list.querySelector(".answer-menu:not([hidden])") !== null;
  }

  /** Shows an element while there are no items. */
  showInstead(element: HTMLElement): void {
    this.list.append(element);
  }

  /** Replaces everything by the newest page. `drawn` is called when all items are drawn. */
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
    this.drawInSlices(items.slice(0, -AT_ONCE).reverse(), (elements) => { this.insertBefore(elements.reverse()); }, drawn);
  }

  insertEarlier(items: readonly ItemView[], first: number, hasMore: boolean): void {
    this.drawInSlices([...items].reverse(), (elements) => { this.insertBefore(elements.reverse()); }, () => {
      this.setFirst(first, hasMore);
      this.isAsking = false;
      const over = this.entries.drop(this.entries.size - MAX_ITEMS, "newest");
      if (over.length === 0) return;
      this.hasEnd = false;
      this.last = (over[0]?.index ?? 0) - 1;
    });
  }

  /** Adds the page after the last item. */
  appendLater(items: readonly ItemView[], isEnd: boolean): void {
    this.drawInSlices(items, (elements) => { this.content.append(...elements); }, () => {
      this.last = items.at(-1)?.index ?? this.last;
      this.hasEnd = isEnd;
      this.isAsking = false;
      this.trimOldest();
    });
  }

  /** Draws the changes. Stays at the end if the transcript was scrolled to the end. */
  update(items: readonly ItemView[], appends: readonly Append[]): void {
    if (this.afterwards) {
      this.afterwards.push(() => { this.update(items, appends); });
      return;
    }
    for (const item of items) if (!this.entries.update(item)) this.add(item);
    if (items.length > 0) this.groups.arrange(this.content);
    for (const append of appends) this.entries.append(append);
    if (!this.sticks) return;
    this.trimOldest();
    this.stick();
  }

  /** The item at the top of the view and its scroll offset; undefined at the end. */
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

  /** Scrolls to the oldest pending request and focuses its first answer. */
  goToQuestion(): void {
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
    this.top = this.list.scrollTop;
  }

  private onScroll(): void {
    const { scrollHeight, scrollTop, clientHeight } = this.list;
    if (clientHeight === 0) return; // there is no layout yet
    // If the width has changed, lines were wrapped again, which changed the scroll position without the user.
    if (this.list.clientWidth !== this.width) {
      this.width = this.list.clientWidth;
      if (this.sticks) {
        this.stick();
        return;
      }
    }
    const below = scrollHeight - scrollTop - clientHeight;
    // The event of a scroll by this page may arrive after more items were appended. Only the user scrolls
    // upwards.
    const isUp = scrollTop < this.top;
    this.top = scrollTop;
    if (this.sticks && !isUp && below >= NEAR_END_PX) {
      this.stick();
      return;
    }
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
    // Ignore items outside the displayed section. The page gets them when the user scrolls there.
    if (!this.hasEnd || item.index < this.first) return;
    this.content.append(this.entries.make(item));
    this.last = Math.max(this.last, item.index);
  }

  private trimOldest(): void {
    const out = this.entries.drop(this.entries.size - MAX_ITEMS, "oldest");
    if (out.length > 0) this.setFirst((out.at(-1)?.index ?? -1) + 1, true);
  }

  /** Creates the elements of a page in slices. Updates wait until all elements exist. */
  private drawInSlices(items: readonly ItemView[], insert: (elements: HTMLElement[]) => void, done: () => void): void {
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
      this.groups.arrange(this.content);
      done();
      this.afterwards = undefined;
      for (const run of waiting) run();
    };
    slice();
  }

  /** Inserts elements before all items, without moving the visible items on the screen. */
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
    const button = target?.closest<HTMLElement>("[data-code]");
    const code = button?.closest(".code")?.querySelector("code");
    if (!button || !code) return;
    const text = code.textContent;
    const { code: action } = button.dataset;
    if (action === "copy") void navigator.clipboard.writeText(text);
    else if (action === "insert") send({ type: "insert", text });
    else send({ type: "submit", text: `Make this change in the project:\n\n\`\`\`\n${text.trimEnd()}\n\`\`\``, attachments: [], how: "send" });
  };
}
