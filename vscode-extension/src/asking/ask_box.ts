// The input of ask in place. One message to VS Code opens it, with the keyboard in it.
import * as vscode from "vscode";
import type { Offers } from "../chat/offers";
import type { Offer } from "../webview/messages";
import { lateLetters } from "./letters";
import type { StrayLetters } from "./strays";
import { type Mention, triggerAt } from "./words";

const SEND: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon("send"), tooltip: "Send (Enter)" };

/** What the user asks. `isSent`: false if they closed the input. */
export interface Question {
  readonly text: string;
  readonly mentions: readonly Mention[];
  readonly isSent: boolean;
}

interface Row extends vscode.QuickPickItem {
  readonly offer: Offer;
}

export class AskBox {
  /** Resolves when the user sends the question or closes the input. */
  readonly asked: Promise<Question>;
  private readonly mentions: Promise<Mention | undefined>[] = [];
  private end: (isSent: boolean) => void = () => undefined;
  private readonly ended = new Promise<boolean>((resolve) => { this.end = resolve; });
  private isEnded = false;
  /** The text of a question that ended before the last change of it. */
  private final: string | undefined;
  private field: vscode.InputBox | vscode.QuickPick<Row>;
  /** The text before that of `field`; not empty while `field` is the list of completions. */
  private before = "";
  /** Changes of the text by this extension, one after the other. */
  private changes: Promise<unknown> = Promise.resolve();
  private refreshes = 0;

  /** Opens the input at once. `draft` is selected, so that typing replaces it. */
  constructor(
    private readonly offers: Offers,
    private readonly title: string,
    private readonly draft: string,
  ) {
    this.field = this.openInput(draft, 0);
    this.asked = this.ended.then(async (isSent) => {
      this.isEnded = true;
      await this.changes;
      this.field.dispose();
      const mentions = (await Promise.all(this.mentions)).flatMap((mention) => mention ?? []);
      return { text: this.final ?? this.before + this.field.value, mentions, isSent };
    });
  }

  /** Moves letters from the file to the beginning of the question, also if it is sent before they are known. */
  take(strays: StrayLetters): void {
    this.change(async () => {
      const letters = await strays.read();
      if (letters !== "") await this.rewrite((typed) => letters + (typed === this.draft ? "" : typed), strays);
      while (!this.isEnded && strays.canUndo) await this.rewrite((typed) => typed, strays);
      await strays.end();
    });
  }

  private change(run: () => Promise<void>): void {
    this.changes = this.changes.then(run).catch(() => undefined);
  }

  /**
   * Changes the text. VS Code can only replace the whole text of an input, and would lose a letter that is typed while its
   * message is on the way. So a new input takes the place of the old one. Such letters are in the old one, and are put
   * between its text and what is typed into the new one.
   */
  private async rewrite(next: (typed: string) => string, strays?: StrayLetters): Promise<void> {
    const { field: old, isEnded } = this;
    const seen = old.value, text = next(seen);
    if (isEnded) {
      this.final = text;
      return;
    }
    const replaced = new Promise<void>((resolve) => { old.onDidHide(() => { resolve(); }); });
    const undone = strays?.canUndo === true ? strays.undo() : "";
    this.before = "";
    this.field = this.openInput(text, text.length);
    await replaced;
    const late = lateLetters(seen, old.value, this.draft) + (await undone);
    old.dispose();
    if (late !== "") await this.rewrite((typed) => text + late + typed.slice(text.length), strays);
  }

  /** Opens an input whose text is selected from an offset on. */
  private openInput(text: string, selectedFrom: number): vscode.InputBox {
    const input = vscode.window.createInputBox();
    Object.assign(input, { title: this.title, placeholder: "What should change? What do you want to know?", prompt: "@ adds a file, / runs a command", buttons: [SEND] });
    Object.assign(input, { ignoreFocusOut: true, value: text, valueSelection: [selectedFrom, text.length] });
    input.onDidChangeValue((value) => {
      const found = triggerAt(value);
      if (found?.query === "") this.change(() => this.offer(found.trigger));
    });
    input.onDidAccept(() => { if (this.field.value.trim() !== "") this.end(true); });
    input.onDidTriggerButton(() => { if (this.field.value.trim() !== "") this.end(true); });
    input.onDidHide(() => { if (this.field === input) this.end(false); });
    input.show();
    return input;
  }

  /** Opens the list of completions in the place of the input. What the user types from now on filters the list. */
  private async offer(trigger: "@" | "/"): Promise<void> {
    const old = this.field, list = vscode.window.createQuickPick<Row>();
    const replaced = new Promise<void>((resolve) => { old.onDidHide(() => { resolve(); }); });
    list.title = `${this.title} · ${old.value}`;
    list.placeholder = trigger === "@" ? "Type to find a file, a symbol or another mention" : "Type to find a command";
    list.ignoreFocusOut = true;
    list.onDidHide(() => { if (this.field === list) this.end(false); });
    list.show();
    this.field = list;
    await replaced;
    old.dispose();
    this.before = old.value;
    const head = this.before.slice(0, this.before.lastIndexOf(trigger));
    const refresh = (): Promise<void> => this.refresh(list, trigger, this.before.slice(head.length + 1) + list.value);
    let listed = refresh(), isAccepted = false;
    list.onDidChangeValue((value) => {
      if (isAccepted) return;
      if (/\s/.test(value)) this.leave(list, (typed) => this.before + typed);
      else listed = refresh();
    });
    list.onDidAccept(() => {
      if (!isAccepted) this.accept(list, listed, head);
      isAccepted = true;
    });
  }

  /** Takes a completion when those for all that was typed are known. What is typed behind Enter stays behind it. */
  private accept(list: vscode.QuickPick<Row>, listed: Promise<void>, head: string): void {
    const typed = list.value;
    this.change(async () => {
      await Promise.race([listed, this.ended]);
      if (this.field !== list) return;
      const row = list.activeItems.find((active) => list.items.includes(active)) ?? list.items[0];
      if (row) this.choose(row.offer);
      const text = row ? head + row.offer.insert : this.before + typed;
      await this.rewrite((now) => text + lateLetters(typed, now, ""));
    });
  }

  private async refresh(list: vscode.QuickPick<Row>, trigger: "@" | "/", query: string): Promise<void> {
    const request = ++this.refreshes;
    const offers = await this.offers.offers(trigger, query).catch(() => []);
    if (this.field !== list || request !== this.refreshes) return;
    list.items = offers.filter(({ runs }) => !runs).map((offer) => ({ label: offer.label, description: offer.detail, alwaysShow: true, offer }));
  }

  private choose({ token, insert }: Offer): void {
    if (token === null) return;
    this.mentions.push(this.offers.choose(token).then((attachment) => attachment && { written: insert.trim(), part: attachment.part }));
  }

  /** Opens the input again in the place of the list. */
  private leave(list: vscode.QuickPick<Row>, next: (typed: string) => string): void {
    if (this.field !== list) return;
    this.change(() => (this.field === list ? this.rewrite(next) : Promise.resolve()));
  }
}
