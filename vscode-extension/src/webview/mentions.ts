// Completion for `@` and `/`: requests the list, shows it, and inserts the chosen entry into the prompt.
import { Menu } from "./menu";
import type { FromView, Offer } from "./messages";

interface Word {
  readonly trigger: "@" | "/";
  readonly query: string;
  /** Position of the trigger in the text. */
  readonly from: number;
}

/** Returns the word before the cursor that triggers completion: `@…` anywhere, `/…` only at the start of the text. */
export function wordAt(text: string, cursor: number): Word | undefined {
  const before = text.slice(0, cursor);
  const slash = /^\/([\w-]*(?: \w*)?)$/.exec(before);
  if (slash) return { trigger: "/", query: slash[1] ?? "", from: 0 };
  const at = /(?:^|[\s([{])@([^\s@]*)$/.exec(before);
  return at ? { trigger: "@", query: at[1] ?? "", from: cursor - (at[1] ?? "").length - 1 } : undefined;
}

interface Host {
  readonly send: (message: FromView) => void;
  /** Called after a completion was inserted into the prompt. */
  readonly onPromptChange: () => void;
  /** Runs a chosen slash command that has no arguments. */
  readonly run: (text: string) => void;
}

export class Mentions {
  readonly menu: Menu;
  private request = 0;
  private word: Word | undefined;

  constructor(
    private readonly input: HTMLTextAreaElement,
    private readonly host: Host,
  ) {
    this.menu = new Menu(input, "Mentions and commands");
    input.addEventListener("blur", () => { this.close(); });
  }

  /** Requests completions for the word before the cursor. Call after the text or the cursor has changed. */
  updateMenu(): void {
    const { selectionStart, selectionEnd, value } = this.input;
    const word = selectionStart === selectionEnd ? wordAt(value, selectionStart) : undefined;
    if (!word) {
      this.close();
      return;
    }
    if (JSON.stringify(word) === JSON.stringify(this.word)) return;
    this.word = word;
    this.host.send({ type: "offer", request: ++this.request, trigger: word.trigger, query: word.query });
  }

  close(): void {
    this.word = undefined;
    this.request += 1; // ignore answers to earlier requests
    this.menu.hide();
  }

  take(event: KeyboardEvent): boolean {
    const isTaken = this.menu.take(event);
    if (isTaken && !this.menu.isOpen) this.close();
    return isTaken;
  }

  show(request: number, offers: readonly Offer[]): void {
    if (request !== this.request || document.activeElement !== this.input) return;
    this.menu.show(offers.map((offer) => ({ ...offer, choose: () => { this.choose(offer); } })));
  }

  private choose({ insert, token, runs }: Offer): void {
    const { word, input } = this;
    if (!word) return;
    this.close();
    const end = word.from + 1 + word.query.length;
    input.setRangeText(runs ? "" : insert, word.from, end, "end");
    if (token !== null) this.host.send({ type: "choose", token });
    if (runs) this.host.run(insert);
    this.host.onPromptChange();
  }
}
