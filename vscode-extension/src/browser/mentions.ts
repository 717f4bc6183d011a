// Completions for `@` in the browser. Only the server provides them, because there is no editor window.
import { mentionIcon, mentionsOf } from "../chat/mention_offers";
import type { Sessions } from "../sessions/session";
import type { Attachment, Offer } from "../webview/messages";

const LIMIT = 30;

export class Mentions {
  private chosenAttachments = new Map<string, Attachment>();

  constructor(private readonly sessions: Sessions) {}

  async offers(query: string): Promise<Offer[]> {
    const { currentId: sessionId } = this.sessions;
    const answer = sessionId === undefined ? undefined : await this.sessions.requestIfSupported("agent/complete", { trigger: "@", query, limit: LIMIT, sessionId });
    const found = mentionsOf(answer?.items ?? []);
    this.chosenAttachments = new Map(found.map(({ label, part }, i) => [String(i), { label, part }]));
    return found.map(({ kind, label, detail }, i) =>
      ({ icon: mentionIcon(kind), label, detail: detail ?? "", insert: `@${label} `, token: String(i), runs: false }));
  }

  /** Returns the attachment of a completion. Undefined if the completion is from an older list. */
  choose(token: string): Attachment | undefined {
    return this.chosenAttachments.get(token);
  }
}
