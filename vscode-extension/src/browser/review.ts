// A dialog with all open changes of the session in reading order, each with its reason, its diff, facts that ask for a
// second look, and the buttons to keep or undo it. The evidence of the newest turn is at its end.
import type { Hunk } from "../snapshot/items";
import { isReadOnly } from "../sessions/owners";
import type { GuideRow, Verdict } from "../connection/protocol";
import type { Connection } from "../sessions/interfaces";
import { isOpen } from "../review/model";
import { describeHunk, verdictLabels } from "../review/words";
import type { Sessions } from "../sessions/session";
import { pathOf } from "../connection/uris";
import { revealHiddenCharacters } from "../approvals/hidden_characters";
import { decisiveLines, diffElement } from "../webview/diff";
import { codeParts, h, plural, textButton } from "../webview/dom";
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
  const line = (sign: string) => (text: string) => `${sign}${text.replace(/\r?\n$/, "")}`;
  return diffElement(decisiveLines(["@@", ...oldLines.map(line("-")), ...newLines.map(line("+"))].join("\n")), `Change at line ${first + 1}`);
}

/** Returns the hunks in the order of the guide; hunks that it does not list come last. */
export function inReadingOrder(hunks: readonly Hunk[], ids: readonly string[]): Hunk[] {
  const place = new Map(ids.map((id, index) => [id, index]));
  return [...hunks].sort((a, b) => (place.get(a.id) ?? ids.length) - (place.get(b.id) ?? ids.length));
}

/** Splits hunks where the file changes. */
export function runsOf(hunks: readonly Hunk[]): Hunk[][] {
  const runs: Hunk[][] = [];
  for (const hunk of hunks) {
    const last = runs.at(-1);
    if (last?.[0]?.uri === hunk.uri) last.push(hunk);
    else runs.push([hunk]);
  }
  return runs;
}

/** Returns what the newest turn with facts says about checks; "" if there is none. */
function newestEvidence(sessions: Sessions): string {
  for (const item of [...sessions.snapshot.items].reverse()) {
    if (item.kind === "end" && item.facts) return item.facts.text;
  }
  return "";
}

export class ReviewDialog {
  private readonly body = h("div", { class: "changes" });
  private readonly title = h("h2", { id: "review-title" });
  private readonly dialog = h("dialog", { id: "review-dialog", "aria-labelledby": "review-title" });
  private shown = "";
  /** The ids of the displayed changes. A change keeps its place while the dialog is open, so that no key and no click hits
   * another one. Undefined until the guide has answered: before that, no change is displayed. */
  private order: readonly string[] | undefined;
  /** The rows of the guide by hunk id, in reading order; empty until the server has answered. */
  private rows = new Map<string, GuideRow>();
  private asked = "";

  constructor(
    private readonly sessions: Sessions,
    private readonly connection: Connection,
    private readonly relative: (path: string) => string,
  ) {
    const all = (verdict: Verdict) => () => { void judge(sessions, openHunks(sessions).map(({ id }) => id), verdict); };
    const bar = h("div", { class: "answers" },
      textButton("Keep All", all("keep"), { class: "primary" }), textButton("Undo All", all("undo"), { class: "secondary" }),
      textButton("Close", () => { this.dialog.close(); }, { class: "secondary" }));
    this.dialog.append(this.title, this.body, bar);
    this.dialog.addEventListener("close", () => { this.order = undefined; });
    document.body.append(this.dialog);
    sessions.listen(() => { if (this.dialog.open) this.draw(); });
  }

  /** Opens the dialog and focuses the change `hunkId`, or the first change without an id. */
  show(hunkId?: string): void {
    if (!this.dialog.open) this.dialog.showModal();
    [this.asked, this.shown, this.order] = ["", "", undefined];
    this.title.textContent = "Changes to review";
    this.body.replaceChildren();
    void this.fetchGuide(openHunks(this.sessions)).then(() => {
      this.order ??= [...this.rows.keys()];
      this.draw();
      this.focus(Math.max(0, this.order.indexOf(hunkId ?? "")));
    });
  }

  private draw(): void {
    if (this.order === undefined) return;
    const unordered = openHunks(this.sessions);
    void this.fetchGuide(unordered).then((isNew) => { if (isNew) this.draw(); });
    const hunks = inReadingOrder(unordered, this.order);
    this.order = hunks.map(({ id }) => id);
    const evidence = newestEvidence(this.sessions);
    const encoded = JSON.stringify([hunks, [...this.rows], evidence]);
    if (encoded === this.shown) return;
    this.shown = encoded;
    const focused = this.focused;
    this.title.textContent = hunks.length === 0 ? "All changes are decided" : `${plural(hunks.length, "change")} to review`;
    const parts = runsOf(hunks).map((run) => {
      const path = this.relative(pathOf(run[0]?.uri ?? ""));
      return h("section", { "aria-label": path }, h("h3", {}, path), ...run.map((hunk) => this.change(hunk)));
    });
    this.body.replaceChildren(...parts, ...(evidence === "" ? [] : [h("p", { class: "dim evidence" }, ...codeParts(revealHiddenCharacters(evidence)))]));
    if (focused === undefined) return;
    const at = this.order.indexOf(focused.id);
    this.focus(at === -1 ? focused.index : at, at === -1 ? 0 : focused.button);
  }

  private change(hunk: Hunk): HTMLElement {
    const words = verdictLabels(hunk);
    const decide = (verdict: Verdict) => () => { void judge(this.sessions, [hunk.id], verdict); };
    const where = `Line ${hunk.first + 1}`;
    const buttons = isReadOnly(this.sessions.snapshot) ? [] : [
      textButton(words.keep, decide("keep"), { class: "secondary", "aria-label": `${words.keep} the change at line ${hunk.first + 1}` }),
      textButton(words.undo, decide("undo"), { class: "secondary", "aria-label": `${words.undo} the change at line ${hunk.first + 1}` }),
    ];
    const row = this.rows.get(hunk.id);
    const reason = row === undefined || row.title === "" ? [] : [h("p", { class: "reason" }, revealHiddenCharacters(row.title))];
    const marks = row === undefined || row.marks.length === 0 ? [] : [h("p", { class: "marks" }, row.marks.map(({ text }) => text).join(" · "))];
    return h("div", { class: "change", "data-hunk": hunk.id }, h("div", { class: "head" }, h("span", { class: "dim grow" }, `${where} · ${describeHunk(hunk)}`), ...buttons), ...reason, ...marks, lines(hunk));
  }

  /** Asks for the guide once for each set of open hunks; returns whether it was read. Without an answer the changes are in
   * the order of the files. */
  private async fetchGuide(hunks: readonly Hunk[]): Promise<boolean> {
    const sessionId = this.sessions.currentId;
    const wanted = [sessionId, ...hunks.map(({ id, state }) => id + state)].join(" ");
    if (sessionId === undefined || wanted === this.asked) return false;
    this.asked = wanted;
    try {
      const { guide } = await this.connection.request("agent/hunks", { sessionId, guide: true });
      if (this.asked !== wanted) return false;
      this.rows = new Map((guide ?? []).flatMap((row) => row.hunkIds.map((id) => [id, row] as const)));
      return true;
    } catch {
      return false; // an older server, or a session that has ended: there is no guide
    }
  }

  /** The change that has the focus, with its index, and the index of the focused button. */
  private get focused(): { readonly id: string; readonly index: number; readonly button: number } | undefined {
    const changes = [...this.body.querySelectorAll<HTMLElement>(".change")];
    const index = changes.findIndex((change) => change.contains(document.activeElement));
    const change = changes[index];
    if (change === undefined) return undefined;
    const button = [...change.querySelectorAll("button")].findIndex((each) => each === document.activeElement);
    return { id: change.dataset["hunk"] ?? "", index, button: Math.max(0, button) };
  }

  /** Focuses a button of the change with this index, or of the last change if there are fewer. */
  private focus(index: number, button = 0): void {
    const changes = [...this.body.querySelectorAll<HTMLElement>(".change")];
    const change = changes[Math.min(index, changes.length - 1)];
    (change ?? this.dialog).querySelectorAll<HTMLElement>("button")[button]?.focus();
    change?.scrollIntoView({ block: "nearest" });
  }
}
