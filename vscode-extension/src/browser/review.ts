// A dialog with all open changes of the session, each with its diff and the buttons to keep or undo it.
import type { Hunk } from "../snapshot/items";
import { isReadOnly } from "../sessions/owners";
import type { Verdict } from "../connection/protocol";
import { isOpen } from "../review/model";
import { describeHunk, verdictLabels } from "../review/words";
import type { Sessions } from "../sessions/session";
import { pathOf } from "../connection/uris";
import { revealHiddenCharacters } from "../approvals/hidden_characters";
import { h, plural, textButton } from "../webview/dom";
import { askUser } from "./dialogs";

export function openHunks(sessions: Sessions): Hunk[] {
  const open = [...sessions.snapshot.hunks.values()].filter(({ state }) => isOpen(state));
  return open.sort((a, b) => (a.uri === b.uri ? a.first - b.first : a.uri < b.uri ? -1 : 1));
}

/** Sends a decision. Asks the user first if the decision would undo text that they have typed. */
export async function judge(sessions: Sessions, hunkIds: readonly string[], verdict: Verdict): Promise<void> {
  if (hunkIds.length === 0) return;
  const edited = verdict === "undo" ? openHunks(sessions).filter(({ id, state }) => state === "edited" && hunkIds.includes(id)) : [];
  if (edited.length > 0) {
    const chosen = await askUser("You have typed inside this change, which the agent made.", edited.map(lines), [{ label: "Undo and Lose My Typing" }]);
    if (chosen === undefined) return;
  }
  await sessions.review({ hunkIds, verdict, ...(edited.length > 0 && { confirm: true }) });
}

function lines({ oldLines, newLines, first }: Hunk): HTMLElement {
  const line = (kind: "removed" | "added", sign: string) => (text: string) => h("span", { class: kind }, `${sign}${revealHiddenCharacters(text.replace(/\r?\n$/, ""))}\n`);
  return h("pre", { class: "diff", tabindex: 0, role: "group", "aria-label": `Change at line ${first + 1}` }, ...oldLines.map(line("removed", "-")), ...newLines.map(line("added", "+")));
}

export class ReviewDialog {
  private readonly body = h("div", { class: "changes" });
  private readonly title = h("h2", { id: "review-title" });
  private readonly dialog = h("dialog", { id: "review-dialog", "aria-labelledby": "review-title" });
  private shown = "";

  constructor(
    private readonly sessions: Sessions,
    private readonly relative: (path: string) => string,
  ) {
    const all = (verdict: Verdict) => () => { void judge(sessions, openHunks(sessions).map(({ id }) => id), verdict); };
    const bar = h("div", { class: "answers" },
      textButton("Keep All", all("keep"), { class: "primary" }), textButton("Undo All", all("undo"), { class: "secondary" }),
      textButton("Close", () => { this.dialog.close(); }, { class: "secondary" }));
    this.dialog.append(this.title, this.body, bar);
    this.dialog.addEventListener("close", () => { this.shown = ""; });
    document.body.append(this.dialog);
    sessions.listen(() => { if (this.dialog.open) this.draw(); });
  }

  /** Opens the dialog and focuses the change `hunkId`, or the first change without an id. */
  show(hunkId?: string): void {
    if (!this.dialog.open) this.dialog.showModal();
    this.draw();
    const hunks = openHunks(this.sessions);
    this.focus(Math.max(0, hunks.findIndex(({ id }) => id === hunkId)));
  }

  private draw(): void {
    const hunks = openHunks(this.sessions);
    const encoded = JSON.stringify(hunks);
    if (encoded === this.shown) return;
    this.shown = encoded;
    const at = this.focusedIndex;
    this.title.textContent = hunks.length === 0 ? "All changes are decided" : `${plural(hunks.length, "change")} to review`;
    const uris = [...new Set(hunks.map(({ uri }) => uri))];
    this.body.replaceChildren(...uris.map((uri) => {
      const path = this.relative(pathOf(uri));
      return h("section", { "aria-label": path }, h("h3", {}, path), ...hunks.filter((hunk) => hunk.uri === uri).map((hunk) => this.change(hunk)));
    }));
    if (at !== undefined) this.focus(at);
  }

  private change(hunk: Hunk): HTMLElement {
    const words = verdictLabels(hunk);
    const decide = (verdict: Verdict) => () => { void judge(this.sessions, [hunk.id], verdict); };
    const where = `Line ${hunk.first + 1}`;
    const buttons = isReadOnly(this.sessions.snapshot) ? [] : [
      textButton(words.keep, decide("keep"), { class: "secondary", "aria-label": `${words.keep} the change at line ${hunk.first + 1}` }),
      textButton(words.undo, decide("undo"), { class: "secondary", "aria-label": `${words.undo} the change at line ${hunk.first + 1}` }),
    ];
    return h("div", { class: "change" }, h("div", { class: "head" }, h("span", { class: "dim grow" }, `${where} · ${describeHunk(hunk)}`), ...buttons), lines(hunk));
  }

  private get focusedIndex(): number | undefined {
    const changes = [...this.body.querySelectorAll(".change")];
    const index = changes.findIndex((change) => change.contains(document.activeElement));
    return index === -1 ? undefined : index;
  }

  /** Focuses the first button of the change with this index, or of the last change if there are fewer. */
  private focus(index: number): void {
    const changes = [...this.body.querySelectorAll<HTMLElement>(".change")];
    const change = changes[Math.min(index, changes.length - 1)];
    (change ?? this.dialog).querySelector<HTMLElement>("button")?.focus();
    change?.scrollIntoView({ block: "nearest" });
  }
}
