// Announcements for screen readers (polite live region): activity, requests, and complete answers.
import { h } from "./dom";
import type { Append, ItemView, SessionView } from "./messages";

const MAX_CHARS = 4_000; // per answer; the transcript has all of it
const KEPT = 3; // answers that stay in the live region

const WORDS: Record<SessionView["activity"], string> = {
  working: "The agent works.", waiting: "The agent asks you a question.", idle: "The agent is done.", closed: "The session is closed.",
};

export class Announcer {
  private readonly state = h("div", { role: "status", "aria-live": "polite" });
  private readonly answers = h("div", { role: "log", "aria-live": "polite", "aria-label": "Answers of the agent" });
  readonly element = h("div", { class: "sr-only" }, this.state, this.answers);
  /** The model's answers that are still streaming. */
  private readonly open = new Map<string, string>();

  say(text: string): void {
    this.state.textContent = text;
  }

  announceActivity(activity: SessionView["activity"]): void {
    this.say(WORDS[activity]);
  }

  /** Call after a reset, so that items that already exist are not announced. */
  forget(): void {
    this.open.clear();
    this.answers.replaceChildren();
  }

  update(items: readonly ItemView[], appends: readonly Append[]): void {
    for (const item of items) {
      if (item.kind === "text") this.answer(item.id, item.text, item.open);
      else if (item.kind === "approval" && item.status === "pending") this.say(`The agent asks: ${item.command === "" ? item.summary : `run ${item.command}`}`);
    }
    for (const { id, text, open } of appends) {
      const before = this.open.get(id);
      if (before !== undefined) this.answer(id, before.length < MAX_CHARS ? before + text : before, open);
    }
  }

  private answer(id: string, text: string, isOpen: boolean): void {
    if (isOpen) {
      this.open.set(id, text);
      return;
    }
    this.open.delete(id);
    this.answers.append(h("p", {}, text.slice(0, MAX_CHARS)));
    while (this.answers.childElementCount > KEPT) this.answers.firstElementChild?.remove();
  }
}
