// Lists the server's stored sessions page by page, and changes single sessions. Does not depend on the editor.
import type { SessionInfo } from "../connection/protocol";
import type { Connection } from "./interfaces";
import type { ExportFormat } from "./rows";

export interface Page {
  readonly sessions: readonly SessionInfo[];
  readonly nextCursor?: string;
}

const PAGE = 30;

/** A method that fails rejects with an error that problemOf can convert. */
export class Library {
  constructor(
    private readonly connection: Connection,
    private readonly newKey: () => string,
  ) {}

  /** Fetches a page of sessions, newest first. `cursor` is from the previous page. Without a folder: of all folders. */
  async fetchPage(folder: string | undefined, cursor?: string): Promise<Page> {
    const params = { limit: PAGE, ...(folder !== undefined && { workspaceFolder: folder }), ...(cursor !== undefined && { cursor }) };
    const { sessions, nextCursor } = await this.connection.request("agent/sessions", params);
    return { sessions, ...(typeof nextCursor === "string" && { nextCursor }) };
  }

  /** Creates a session with the same history, or with the history up to the turn `atTurnId`. */
  async fork(sessionId: string, atTurnId?: string): Promise<SessionInfo> {
    const params = { ...this.change(sessionId), ...(atTurnId !== undefined && { atTurnId }) };
    return (await this.connection.request("agent/fork", params)).session;
  }

  async rename(sessionId: string, title: string): Promise<SessionInfo> {
    return (await this.connection.request("agent/rename", { ...this.change(sessionId), title })).session;
  }

  /** Takes a session over. `force`: even if the owner runs but does not answer; ask the user before that. */
  async takeOver(sessionId: string, force: boolean): Promise<SessionInfo> {
    return (await this.connection.request("agent/takeOver", { ...this.change(sessionId), ...(force && { force }) })).session;
  }

  async close(sessionId: string): Promise<void> {
    await this.connection.request("agent/closeSession", this.change(sessionId));
  }

  /** Deletes a session. `force`: even if it has pending changes, which then stay in the files. */
  async remove(sessionId: string, force: boolean): Promise<void> {
    await this.connection.request("agent/deleteSession", { ...this.change(sessionId), ...(force && { force }) });
  }

  /** Fetches the transcript. `redact` removes keys, mail addresses and names of this machine; not for jsonl. */
  async fetchTranscript(sessionId: string, format: ExportFormat, redact?: true): Promise<string> {
    return (await this.connection.request("agent/export", { sessionId, format, ...(redact && { redact }) })).text;
  }

  private change(sessionId: string) {
    return { sessionId, clientKey: this.newKey() };
  }
}
