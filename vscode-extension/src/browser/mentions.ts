// Completions for `@` in the browser. Only the server provides them, because there is no editor window.
import { mentionIcon, mentionsOf, OfferedValues } from "../chat/mention_offers";
import type { Sessions } from "../sessions/session";
import type { Attachment, Offer } from "../webview/messages";

const LIMIT = 30;

export class Mentions {
  private readonly offered = new OfferedValues<Attachment>();

  constructor(private readonly sessions: Sessions) {}

  async offers(query: string): Promise<Offer[]> {
    const { currentId: sessionId } = this.sessions;
    const answer = sessionId === undefined ? undefined : await this.sessions.requestIfSupported("agent/complete", { trigger: "@", query, limit: LIMIT, sessionId });
    const found = mentionsOf(answer?.items ?? []);
    const tokens = this.offered.add(found.map(({ label, part }) => ({ label, part })));
    return found.map(({ kind, label, detail }, i) =>
      ({ icon: mentionIcon(kind), label, detail: detail ?? "", insert: `@${label} `, token: tokens[i] ?? "", runs: false }));
  }

  /** Returns the attachment of a completion. Undefined if its list is too old. */
  choose(token: string): Attachment | undefined {
    return this.offered.get(token);
  }
}
