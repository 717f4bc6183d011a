// Models and slash commands of the server. Commands are cached for FRESH_MS only, because MCP servers, which may
// start with a message, add commands.
import type { CommandInfo, ModelsResult } from "../connection/protocol";
import type { Sessions } from "../sessions/session";

const FRESH_MS = 3000;

export class Catalog {
  private known: { readonly sessionId: string | undefined; readonly askedMs: number; readonly commands: Promise<readonly CommandInfo[]> } | undefined;

  constructor(private readonly sessions: Sessions) {
    sessions.listen(({ forgotten }) => { if (forgotten === true) this.known = undefined; });
  }

  /** Requests the models each time, because API keys may change. Returns null if the server does not support that. */
  async models(look: boolean): Promise<ModelsResult | null> {
    return (await this.sessions.requestIfSupported("agent/models", look ? { look } : {})) ?? null;
  }

  commands(): Promise<readonly CommandInfo[]> {
    const { currentId } = this.sessions;
    const nowMs = Date.now();
    if (this.known === undefined || this.known.sessionId !== currentId || nowMs - this.known.askedMs > FRESH_MS) {
      this.known = { sessionId: currentId, askedMs: nowMs, commands: this.ask(currentId) };
    }
    return this.known.commands;
  }

  private async ask(sessionId: string | undefined): Promise<readonly CommandInfo[]> {
    const answer = await this.sessions.requestIfSupported("agent/commands", sessionId === undefined ? {} : { sessionId });
    return answer?.commands ?? [];
  }
}
