// The connection to the server: starts it, syncs all files, and sends requests. Does not store the state of
// sessions.
import { homedir } from "node:os";
import * as vscode from "vscode";
import { CloseAction, ErrorAction, type FeatureState, LanguageClient, RevealOutputChannelOn, type StaticFeature, TextDocumentContentRequest } from "vscode-languageclient/node";
import type { Log } from "../logger";
import { ABILITIES, type AgentEvent, EVENT_METHOD, type FileHunks, MOVED_METHOD, type Method, type Notifications, type Problem, type Requests } from "./protocol";
import { withoutSecrets } from "./redact";
import type { Connection } from "../sessions/interfaces";
import type { Command } from "../server/locate";
import { SECTION, readServerSettings, readAllSettings } from "../settings/settings";

/** Sends a request to a running server. */
export type Send = <M extends Method>(method: M, params: Requests[M]["params"]) => Promise<Requests[M]["result"]>;

/** Announces `agent/*` support and its version to the server. */
class AgentFeature implements StaticFeature {
  fillClientCapabilities(capabilities: { experimental?: unknown }): void {
    capabilities.experimental = { ...(capabilities.experimental as object | undefined), [SECTION]: { ...ABILITIES, workspaceTrusted: vscode.workspace.isTrusted } };
  }

  initialize(): void {
    // Nothing to register: responses show whether the server supports agent/*.
  }

  getState(): FeatureState {
    return { kind: "static" };
  }

  clear(): void {
    // Nothing to release.
  }
}

/** An error with hint and kind in the form that problemOf reads. */
class ProblemError extends Error {
  readonly data: { readonly hint?: string; readonly kind?: string };

  constructor(problem: Problem) {
    super(problem.message);
    this.data = { ...(problem.hint !== undefined && { hint: problem.hint }), ...(problem.kind !== undefined && { kind: problem.kind }) };
  }
}

export class Client implements Connection, vscode.Disposable {
  /** Called for each event of the server. */
  onEvent: (event: AgentEvent) => void = () => undefined;
  /** Called with the current positions of a file's open hunks. */
  onMoved: (file: FileHunks) => void = () => undefined;
  /** Called when the server has ended, with a problem if the end was unexpected. */
  onExit: (problem?: Problem) => void = () => undefined;
  /** Called after the start and before the first request, to send what the server needs first, such as API keys. */
  prepare: (send: Send) => Promise<void> = () => Promise.resolve();
  /** Called with a description of each step of the start, and with undefined when the start has ended. */
  onProgress: (words: string | undefined) => void = () => undefined;
  /** Called when the server has started and answered. */
  onStart: () => void = () => undefined;

  private starting: Promise<LanguageClient> | undefined;
  private running: LanguageClient | undefined;
  private stopping = false;

  constructor(
    private readonly find: () => Promise<Command | Problem>,
    private readonly log: Log,
  ) {}

  get isRunning(): boolean {
    return this.running !== undefined;
  }

  /** Whether the server supports agent/diagnostics. */
  get takesDiagnostics(): boolean {
    const { experimental } = (this.running?.initializeResult?.capabilities ?? {}) as { experimental?: { agentLs?: { diagnostics?: boolean } } };
    return experimental?.agentLs?.diagnostics === true;
  }

  /** Starts the server if necessary and sends a request. `token` cancels the request, also in the server. */
  async request<M extends Method>(method: M, params: Requests[M]["params"], token?: vscode.CancellationToken): Promise<Requests[M]["result"]> {
    const client = await this.start();
    return token ? client.sendRequest(method, params, token) : sender(client)(method, params);
  }

  /** Starts the server if it is not running. */
  async ensureStarted(): Promise<void> {
    await this.start();
  }

  /** Runs `ask` if the server is running, else returns undefined without starting one. */
  async whileRunning<Result>(ask: (send: Send) => Promise<Result>): Promise<Result | undefined> {
    return this.running && ask(sender(this.running));
  }

  /** Sends a notification if the server is running; does not start it. */
  notify<N extends keyof Notifications>(method: N, params: Notifications[N]): void {
    this.running?.sendNotification(method, params).catch((error: unknown) => {
      this.log.warn(`${method}: ${String(error)}`);
    });
  }

  /** Requests the text of a virtual document; undefined if the server does not provide it or is not running. */
  async textOf(uri: string): Promise<string | undefined> {
    if (this.running?.initializeResult?.capabilities.workspace?.textDocumentContent === undefined) return undefined;
    try {
      return (await this.running.sendRequest(TextDocumentContentRequest.type, { uri })).text;
    } catch (error) {
      this.log.warn(`${uri}: ${String(error)}`);
      return undefined;
    }
  }

  /** Stops the server in the same way as closing the window. */
  async stop(): Promise<void> {
    const client = this.running;
    if (!client) return;
    this.stopping = true;
    try {
      await client.stop();
    } finally {
      this.stopping = false;
      this.onEnd();
    }
  }

  dispose(): void {
    void this.stop();
  }

  private start(): Promise<LanguageClient> {
    this.starting ??= this.launch().catch((error: unknown) => {
      this.starting = undefined;
      throw error;
    });
    return this.starting;
  }

  private async launch(): Promise<LanguageClient> {
    this.onProgress("Starting agent-ls");
    try {
      return await this.begin();
    } finally {
      this.onProgress(undefined);
    }
  }

  private async begin(): Promise<LanguageClient> {
    const command = await this.find();
    if (!("program" in command)) throw new ProblemError(command);
    this.log.info(`starting ${[command.program, ...command.args].join(" ")}`);
    const client = this.make(command);
    client.registerFeature(new AgentFeature());
    client.onNotification(EVENT_METHOD, (event: AgentEvent) => { this.onEvent(event); });
    client.onNotification(MOVED_METHOD, (file: FileHunks) => { this.onMoved(file); });
    try {
      await client.start();
    } catch (error) {
      this.log.error(String(error));
      throw new ProblemError({ message: `The server ${command.program} did not start.`, hint: "See the log (command “agent-ls: Show Log”).", kind: "no_server" });
    }
    await this.prepare(sender(client));
    this.running = client;
    this.onStart();
    return client;
  }

  private make({ program, args }: Command): LanguageClient {
    const cwd = vscode.workspace.workspaceFolders?.find((folder) => folder.uri.scheme === "file")?.uri.fsPath ?? homedir();
    const server = { command: program, args: [...args], options: { cwd } };
    return new LanguageClient(SECTION, "agent-ls", server, {
      // Sync files of all languages, because the agent reads and edits the open text, not the saved text.
      documentSelector: [{ scheme: "file" }],
      initializationOptions: { [SECTION]: readServerSettings() },
      // Answer only for the section `agentLs`, and only with user settings: workspace settings are ignored.
      middleware: { workspace: { configuration: ({ items }) => items.map(({ section }) => section === SECTION ? readAllSettings() : null) } },
      outputChannel: this.log,
      traceOutputChannel: traceOf(this.log),
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => {
          // onExit decides about a restart, because that depends on whether a session is open.
          if (!this.stopping) this.onEnd({ message: "The server ended unexpectedly.", hint: "See the log (command “agent-ls: Show Log”)." });
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
    });
  }

  private onEnd(problem?: Problem): void {
    const wasRunning = this.running !== undefined;
    this.running = this.starting = undefined;
    if (wasRunning) this.onExit(problem);
  }
}

function sender(client: LanguageClient): Send {
  return (method, params) => client.sendRequest(method, params);
}

/** A log without secrets, even at the most detailed trace level. */
function traceOf(log: Log): Log {
  const trace: Log["trace"] = (message, ...rest: unknown[]) => { log.trace(withoutSecrets(message), ...rest); };
  return Object.create(log, { trace: { value: trace } }) as Log;
}
