// What the server offers to choose from: models and slash commands. Asked for once, and again after it was restarted.
import type { CommandInfo, ModelsResult } from "../protocol_chat";
import type { Sessions } from "../session";

export class Catalog {
  private known: { readonly sessionId: string | undefined; readonly commands: Promise<readonly CommandInfo[]> } | undefined;

  constructor(private readonly sessions: Sessions) {
    sessions.listen(({ forgotten }) => { if (forgotten === true) this.known = undefined; });
  }

  /** Always asked anew: keys come and go. Null: the server does not tell. */
  async models(look: boolean): Promise<ModelsResult | null> {
    return (await this.sessions.offered("agent/models", look ? { look } : {})) ?? null;
  }

  commands(): Promise<readonly CommandInfo[]> {
    const { currentId } = this.sessions;
    if (this.known?.sessionId !== currentId || this.known === undefined) {
      this.known = { sessionId: currentId, commands: this.ask(currentId) };
    }
    return this.known.commands;
  }

  private async ask(sessionId: string | undefined): Promise<readonly CommandInfo[]> {
    const answer = await this.sessions.offered("agent/commands", sessionId === undefined ? {} : { sessionId });
    return answer?.commands ?? [];
  }
}
