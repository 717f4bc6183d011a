// The sessions that the server keeps: pages of them, and what is done to one from outside. It knows no editor.
import type { SessionInfo } from "../protocol";
import type { Connection } from "../seams";

export interface Page {
  readonly sessions: readonly SessionInfo[];
  readonly nextCursor?: string;
}

const PAGE = 30;

/** Every method rejects with what problemOf reads. */
export class Library {
  constructor(
    private readonly connection: Connection,
    private readonly newKey: () => string,
  ) {}

  /** Newest first; `cursor` of the page before. Without a folder: of all folders. */
  async page(folder: string | undefined, cursor?: string): Promise<Page> {
    const params = { limit: PAGE, ...(folder !== undefined && { workspaceFolder: folder }), ...(cursor !== undefined && { cursor }) };
    const { sessions, nextCursor } = await this.connection.request("agent/sessions", params);
    return { sessions, ...(typeof nextCursor === "string" && { nextCursor }) };
  }

  /** A new session with the same past; `atTurnId`: up to that turn. */
  async fork(sessionId: string, atTurnId?: string): Promise<SessionInfo> {
    const params = { ...this.change(sessionId), ...(atTurnId !== undefined && { atTurnId }) };
    return (await this.connection.request("agent/fork", params)).session;
  }

  async rename(sessionId: string, title: string): Promise<SessionInfo> {
    return (await this.connection.request("agent/rename", { ...this.change(sessionId), title })).session;
  }

  /** `force`: also from a process that lives and does not answer; ask the user before. */
  async takeOver(sessionId: string, force: boolean): Promise<SessionInfo> {
    return (await this.connection.request("agent/takeOver", { ...this.change(sessionId), ...(force && { force }) })).session;
  }

  async close(sessionId: string): Promise<void> {
    await this.connection.request("agent/closeSession", this.change(sessionId));
  }

  /** `force`: also when changes of it wait for a verdict, which then stay in the files as they are. */
  async remove(sessionId: string, force: boolean): Promise<void> {
    await this.connection.request("agent/deleteSession", { ...this.change(sessionId), ...(force && { force }) });
  }

  async text(sessionId: string, format: "markdown" | "jsonl"): Promise<string> {
    return (await this.connection.request("agent/export", { sessionId, format })).text;
  }

  private change(sessionId: string) {
    return { sessionId, clientKey: this.newKey() };
  }
}
