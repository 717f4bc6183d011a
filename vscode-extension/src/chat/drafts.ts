// Saves the unsent prompt to the server, soon after the last key and at once when the page closes. Pure.
import type { DraftView, Posted } from "../webview/messages";

export type ReportedDraft = Extract<Posted, { type: "draft" }>;

const QUIET_MS = 200;
const WITH_PICTURES_MS = 2_000; // images are megabytes, so they are saved less often

const EMPTY: DraftView = { text: "", attachments: [] };

export class Drafts {
  private current = EMPTY;
  /** The session that the current draft belongs to; "" if there is none yet. */
  private sessionId = "";
  private before = { of: "", draft: EMPTY };
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly keep: (draft: DraftView, of: string) => void) {}

  /** Handles a draft that the page reports. */
  take(draft: ReportedDraft): void {
    if (draft.of === this.sessionId) this.store(draft);
    else this.saveForEarlier(draft);
  }

  /** Saves a prompt that was typed before the page displayed another session. */
  private saveForEarlier({ of, text, attachments }: ReportedDraft): void {
    const known = of === this.before.of ? this.before.draft.attachments : [];
    this.keep({ text, attachments: attachments ?? known }, of);
  }

  private store({ text, attachments, isLast }: ReportedDraft): void {
    const emptied = text === "" && this.current.text !== "";
    this.current = { text, attachments: attachments ?? this.current.attachments };
    const hasPictures = this.current.attachments.some(({ part }) => part.type === "image");
    clearTimeout(this.timer);
    this.timer = setTimeout(() => { this.flush(); }, hasPictures ? WITH_PICTURES_MS : QUIET_MS);
    // An emptied prompt was sent, so a reload must not restore it.
    if (isLast || emptied) this.flush();
  }

  /** Switches to the draft of another session, which needs no saving because it is the stored one. */
  replace(draft: DraftView, of: string): void {
    this.flush();
    if (of !== this.sessionId) this.before = { of: this.sessionId, draft: this.current };
    this.sessionId = of;
    this.current = draft;
  }

  /** Saves pending changes at once. */
  flush(): void {
    if (this.timer === undefined) return;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.keep(this.current, this.sessionId);
  }
}
