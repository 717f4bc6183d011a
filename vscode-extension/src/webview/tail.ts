// The end of the transcript: the message being sent, and the agent's activity with its elapsed time.
import { durationWords } from "./clock";
import { h } from "./dom";
import type { SessionView } from "./messages";
import type { RenderContext } from "./render";
import { messageElements } from "./message_element";

const SHOWN_FROM_MS = 3_000; // the elapsed time is displayed only after this time
const TICK_MS = 1_000;

export class Tail {
  readonly element = h("div", { id: "tail" });
  private readonly words = h("span", { class: "words" });
  private readonly seconds = h("span", { class: "dim seconds" });
  private readonly line = h("div", { class: "doing", hidden: true, "aria-hidden": "true" }, h("span", { class: "dots" }, h("i"), h("i"), h("i")), this.words, this.seconds);
  private readonly sending = h("div");
  private sent = "";
  private sinceMs = 0;
  private timer: ReturnType<typeof setInterval> | undefined;

  constructor(private readonly context: RenderContext) {
    this.element.append(this.sending, this.line);
  }

  get isEmpty(): boolean {
    return this.line.hidden && this.sending.childElementCount === 0;
  }

  show({ doing, sending }: SessionView): void {
    this.showSending(sending);
    if (this.words.textContent === doing) return;
    this.words.textContent = doing;
    this.line.hidden = doing === "";
    this.sinceMs = performance.now();
    clearInterval(this.timer);
    this.seconds.textContent = "";
    if (doing !== "") this.timer = setInterval(() => { this.tick(); }, TICK_MS);
  }

  private showSending(sending: SessionView["sending"]): void {
    const encoded = JSON.stringify(sending);
    if (encoded === this.sent) return;
    this.sent = encoded;
    this.sending.replaceChildren(...(sending ? [h("article", { class: "user sending", "aria-label": "You" }, ...messageElements("sending", sending, this.context))] : []));
  }

  private tick(): void {
    const ms = performance.now() - this.sinceMs;
    this.seconds.textContent = ms < SHOWN_FROM_MS ? "" : durationWords(ms);
  }
}
