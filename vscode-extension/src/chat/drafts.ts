// Keeps what is written but not sent: told to the server soon after the last key, at once when the page goes away. Pure.
import type { DraftView, Posted } from "../webview/messages";

export type Told = Extract<Posted, { type: "draft" }>;

const QUIET_MS = 200;
const WITH_PICTURES_MS = 2_000; // megabytes are not written at every pause

const EMPTY: DraftView = { text: "", attachments: [] };

export class Drafts {
  private now = EMPTY;
  /** The session whose prompt it is; "" when there is none yet. */
  private of = "";
  private before = { of: "", draft: EMPTY };
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly keep: (draft: DraftView, of: string) => void) {}

  /** The page's prompt has changed. */
  take(told: Told): void {
    if (told.of === this.of) this.took(told);
    else this.late(told);
  }

  /** Typed before the page knew that it shows another session. */
  private late({ of, text, attachments }: Told): void {
    const known = of === this.before.of ? this.before.draft.attachments : [];
    this.keep({ text, attachments: attachments ?? known }, of);
  }

  private took({ text, attachments, isLast }: Told): void {
    const emptied = text === "" && this.now.text !== "";
    this.now = { text, attachments: attachments ?? this.now.attachments };
    const hasPictures = this.now.attachments.some(({ part }) => part.type === "image");
    clearTimeout(this.timer);
    this.timer = setTimeout(() => { this.flush(); }, hasPictures ? WITH_PICTURES_MS : QUIET_MS);
    // An emptied prompt was sent: a reload must not bring it back.
    if (isLast || emptied) this.flush();
  }

  /** The prompt is that of another session now, and is kept as it is. */
  replace(draft: DraftView, of: string): void {
    this.flush();
    if (of !== this.of) this.before = { of: this.of, draft: this.now };
    this.of = of;
    this.now = draft;
  }

  /** Keeps at once what waits to be kept. */
  flush(): void {
    if (this.timer === undefined) return;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.keep(this.now, this.of);
  }
}
