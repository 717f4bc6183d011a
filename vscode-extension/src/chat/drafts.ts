// Keeps what is written but not sent: told to the server soon after the last key, at once when the page goes away. Pure.
import type { DraftView, FromView } from "../webview/messages";

type Told = Extract<FromView, { type: "draft" }>;

const QUIET_MS = 200;
const WITH_PICTURES_MS = 2_000; // megabytes are not written at every pause

export class Drafts {
  private now: DraftView = { text: "", attachments: [] };
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly keep: (draft: DraftView) => void) {}

  /** The page's prompt has changed. */
  take({ text, attachments, isLast }: Told): void {
    const emptied = text === "" && this.now.text !== "";
    this.now = { text, attachments: attachments ?? this.now.attachments };
    const hasPictures = this.now.attachments.some(({ part }) => part.type === "image");
    clearTimeout(this.timer);
    this.timer = setTimeout(() => { this.flush(); }, hasPictures ? WITH_PICTURES_MS : QUIET_MS);
    // An emptied prompt was sent: a reload must not bring it back.
    if (isLast || emptied) this.flush();
  }

  /** The prompt is that of another session now, and is kept as it is. */
  replace(draft: DraftView): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.now = draft;
  }

  /** Keeps at once what waits to be kept. */
  flush(): void {
    if (this.timer === undefined) return;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.keep(this.now);
  }
}
