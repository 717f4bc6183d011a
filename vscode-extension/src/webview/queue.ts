// The queued messages, which can be edited, reordered, sent at once or removed.
import { findByData, h, icon, iconButton, isComposing, plural, textButton } from "./dom";
import type { FromView, QueuedView } from "./messages";

export class QueueList {
  readonly element = h("ol", { id: "queue", "aria-label": "Queued until the agent is done", hidden: true });
  private shown = "";
  private items: readonly QueuedView[] = [];
  private editing: string | undefined;

  constructor(private readonly send: (message: FromView) => void) {}

  show(items: readonly QueuedView[]): void {
    const encoded = JSON.stringify(items);
    if (encoded === this.shown) return;
    this.shown = encoded;
    this.items = items;
    // The message was sent or removed while it was being edited.
    if (!items.some(({ queuedId }) => queuedId === this.editing)) this.editing = undefined;
    if (this.editing === undefined) this.draw();
  }

  private draw(focus?: { readonly queuedId: string; readonly action: string }): void {
    const active = document.activeElement instanceof HTMLElement && this.element.contains(document.activeElement) ? document.activeElement : undefined;
    const wanted = focus ?? { queuedId: active?.closest("li")?.dataset["queued"] ?? "", action: active?.dataset["action"] ?? "" };
    this.element.replaceChildren(...this.items.map((item, i) => this.row(item, i)));
    this.element.hidden = this.items.length === 0;
    if (wanted.action === "") return;
    const row = findByData(this.element, "queued", wanted.queuedId);
    (row?.querySelector<HTMLElement>(`[data-action="${wanted.action}"]:not(:disabled)`) ?? row?.querySelector<HTMLElement>("button:not(:disabled)"))?.focus();
  }

  private row(item: QueuedView, i: number): HTMLElement {
    const { queuedId, text, images } = item;
    if (queuedId === this.editing) return this.editor(item);
    const before = this.items[i - 1]?.queuedId;
    const afterNext = this.items[i + 2]?.queuedId ?? null;
    const isLast = i === this.items.length - 1;
    const move = (to: string | null) => () => { this.send({ type: "moveQueued", queuedId, before: to }); };
    const row = h(
      "li",
      { "data-queued": queuedId },
      icon("clock"),
      h("span", { class: "what", title: text }, text),
      images > 0 && h("span", { class: "dim" }, `+ ${plural(images, "picture")}`),
      iconButton("arrow-up", "Move up (Alt+Up)", move(before ?? null), { "data-action": "up", disabled: before === undefined }),
      iconButton("arrow-down", "Move down (Alt+Down)", move(afterNext), { "data-action": "down", disabled: isLast }),
      iconButton("edit", "Edit", () => { this.edit(queuedId); }, { "data-action": "edit" }),
      iconButton("debug-start", "Stop the running turn and send this message now", () => { this.send({ type: "startQueued", queuedId }); }, { "data-action": "start" }),
      iconButton("close", "Remove (Delete)", () => { this.send({ type: "removeQueued", queuedId }); }, { "data-action": "remove" }),
    );
    row.addEventListener("keydown", (event) => {
      const isUp = event.altKey && event.key === "ArrowUp" && before !== undefined;
      const isDown = event.altKey && event.key === "ArrowDown" && !isLast;
      if (isUp || isDown) move(isUp ? before : afterNext)();
      else if (event.key === "Delete") this.send({ type: "removeQueued", queuedId });
      else return;
      event.preventDefault();
    });
    return row;
  }

  private edit(queuedId: string): void {
    this.editing = queuedId;
    this.draw();
    this.element.querySelector("textarea")?.focus();
  }

  private editor({ queuedId, text, images }: QueuedView): HTMLElement {
    const field = h("textarea", { rows: Math.min(6, text.split("\n").length), "aria-label": "Queued message" });
    field.value = text;
    const close = () => {
      this.editing = undefined;
      this.draw({ queuedId, action: "edit" });
    };
    const save = () => {
      const edited = field.value.trim();
      if (edited !== "" && edited !== text) this.send({ type: "editQueued", queuedId, text: field.value });
      close();
    };
    field.addEventListener("keydown", (event) => {
      if (isComposing(event)) return;
      if (event.key === "Escape") close();
      else if (event.key === "Enter" && !event.shiftKey) save();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    const kept = images > 0 && h("span", { class: "dim" }, `${plural(images, "picture")} stay attached`);
    return h("li", { class: "editing", "data-queued": queuedId }, field, kept, textButton("Save", save, { class: "primary" }), textButton("Cancel", close, { class: "secondary" }));
  }
}
