// Completes `@` and `/` in the input of ask in place, with the same completions as the prompt of the chat.
import * as vscode from "vscode";
import type { Offers } from "../chat/offers";
import { type Mention, triggerAt } from "./words";

const INPUT = { scheme: "comment" };
const CHOSEN = "agentLs.askMention";

export class AskCompletion implements vscode.CompletionItemProvider, vscode.Disposable {
  private chosenMentions: Promise<Mention | undefined>[] = [];
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly offers: Offers) {
    this.subscriptions = [
      vscode.languages.registerCompletionItemProvider(INPUT, this, "@", "/"),
      vscode.commands.registerCommand(CHOSEN, (token: string, written: string) => { this.chosenMentions.push(this.resolveMention(token, written)); }),
    ];
  }

  /** Returns the mentions that the user has chosen since the last `clear`. */
  async resolveMentions(): Promise<readonly Mention[]> {
    return (await Promise.all(this.chosenMentions)).flatMap((mention) => mention ?? []);
  }

  clear(): void {
    this.chosenMentions = [];
  }

  async provideCompletionItems(document: vscode.TextDocument, position: vscode.Position): Promise<vscode.CompletionList | undefined> {
    const before = document.getText(new vscode.Range(new vscode.Position(0, 0), position));
    const found = triggerAt(before);
    if (!found) return undefined;
    const { trigger, query } = found;
    const range = new vscode.Range(position.translate(0, -query.length - 1), position);
    const offers = (await this.offers.offers(trigger, query)).filter(({ runs }) => !runs);
    const items = offers.map(({ label, detail, insert, token }, i) => {
      const item = new vscode.CompletionItem({ label, description: detail }, trigger === "@" ? vscode.CompletionItemKind.File : vscode.CompletionItemKind.Function);
      Object.assign(item, { insertText: insert, range, filterText: `${trigger}${label.replace(/^[@/]/, "")}`, sortText: String(i).padStart(3, "0") });
      if (token !== null) item.command = { title: "", command: CHOSEN, arguments: [token, insert.trim()] };
      return item;
    });
    return new vscode.CompletionList(items, true);
  }

  private async resolveMention(token: string, written: string): Promise<Mention | undefined> {
    const attachment = await this.offers.choose(token);
    return attachment && { written, part: attachment.part };
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
  }
}
