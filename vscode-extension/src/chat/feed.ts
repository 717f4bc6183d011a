// Decides what to send to the webview. A new view gets the newest page of items, and later only changes. For a growing
// text only the appended part is sent. Pure.
import type { Item, Snapshot, TextItem } from "../snapshot/items";
import { takeChangedItems } from "../snapshot/snapshot";
import type { ToView } from "../webview/messages";
import { attachmentsOf } from "./labels";
import { type ViewContext, itemView, sessionView } from "./views";

const PAGE = 50; // items per page of scrolling

interface SentText {
  readonly revision: number;
  readonly chars: number;
}

export class Feed {
  private first = 0;
  private readonly sentTexts = new Map<string, SentText>();
  private sentSession = "";

  constructor(private readonly context: ViewContext) {}

  /** The newest page, for a view without any content. */
  takeNewestPage(s: Snapshot): ToView {
    takeChangedItems(s);
    this.sentTexts.clear();
    this.first = Math.max(s.first, s.first + s.items.length - PAGE);
    const session = sessionView(s, this.context);
    this.sentSession = JSON.stringify(session);
    const draft = s.draft ? { text: s.draft.text, attachments: attachmentsOf(s.draft.attachments) } : null;
    return { type: "reset", session, items: this.buildViews(s, s.items.slice(this.first - s.first)), first: this.first, more: this.hasMore(s), draft };
  }

  /** The page before the first item that the view has. */
  takeEarlierPage(s: Snapshot, before: number): ToView {
    const from = Math.max(s.first, before - PAGE);
    const items = this.buildViews(s, s.items.slice(from - s.first, Math.max(0, before - s.first)));
    this.first = Math.min(this.first, from);
    return { type: "earlier", items, first: from, more: this.hasMore(s) };
  }

  /** The page after the last item that the view has. */
  takeLaterPage(s: Snapshot, after: number): ToView {
    const from = after + 1 - s.first;
    const items = this.buildViews(s, s.items.slice(from, from + PAGE));
    return { type: "later", items, isEnd: from + PAGE >= s.items.length };
  }

  /** The changes since the last message; undefined if there are none. */
  takeChanges(s: Snapshot): ToView | undefined {
    const appends: { id: string; text: string; open: boolean }[] = [];
    const whole: Item[] = [];
    for (const item of takeChangedItems(s)) {
      if (item.index < this.first) continue;
      const piece = this.takeAppendedText(item);
      if (piece === undefined) whole.push(item);
      else appends.push({ id: item.id, ...piece });
    }
    const session = sessionView(s, this.context);
    const encoded = JSON.stringify(session);
    const isNew = encoded !== this.sentSession;
    this.sentSession = encoded;
    if (whole.length === 0 && appends.length === 0 && !isNew) return undefined;
    return { type: "update", session: isNew ? session : null, items: this.buildViews(s, whole), appends };
  }

  private hasMore(s: Snapshot): boolean {
    return this.first > s.first || s.more;
  }

  private buildViews(s: Snapshot, items: readonly Item[]) {
    for (const item of items) if (isText(item)) this.remember(item);
    return items.map((item) => itemView(item, s, this.context));
  }

  private remember(item: TextItem): void {
    this.sentTexts.set(item.id, { revision: item.part.revision, chars: item.part.text.length });
  }

  /** Returns the text appended to an item since it was last sent; undefined if the item must be sent as a whole. */
  private takeAppendedText(item: Item): { text: string; open: boolean } | undefined {
    if (!isText(item)) return undefined;
    const sent = this.sentTexts.get(item.id);
    const { part } = item;
    if (sent?.revision !== part.revision || part.interrupted) return undefined;
    this.remember(item);
    return { text: part.text.slice(sent.chars), open: part.open };
  }
}

function isText(item: Item): item is TextItem {
  return item.kind === "text" || item.kind === "reasoning";
}
