// The connection: starts the server, syncs every file, sends requests. It does not know sessions.
import { homedir } from "node:os";
import * as vscode from "vscode";
import { CloseAction, ErrorAction, type FeatureState, LanguageClient, RevealOutputChannelOn, type StaticFeature, TextDocumentContentRequest } from "vscode-languageclient/node";
import type { Log } from "./logger";
import { ABILITIES, type AgentEvent, EVENT_METHOD, type Notifications, type Problem } from "./protocol";
import { withoutSecrets } from "./redact";
import type { Method, Requests } from "./requests";
import type { Connection } from "./seams";
import type { Command } from "./server/locate";
import { SECTION, serverSettings, settingsNow } from "./settings";

/** Asks a server that runs. */
export type Send = <M extends Method>(method: M, params: Requests[M]["params"]) => Promise<Requests[M]["result"]>;

/** Tells the server that we speak agent/*, and in which version. */
class AgentFeature implements StaticFeature {
  fillClientCapabilities(capabilities: { experimental?: unknown }): void {
    capabilities.experimental = { ...(capabilities.experimental as object | undefined), [SECTION]: { ...ABILITIES, workspaceTrusted: vscode.workspace.isTrusted } };
  }

  initialize(): void {
    // Nothing to register: whether the server speaks agent/* shows in its answers.
  }

  getState(): FeatureState {
    return { kind: "static" };
  }

  clear(): void {
    // Holds nothing.
  }
}

/** A failure as problemOf reads it. */
class ProblemError extends Error {
  readonly data: { readonly hint?: string };

  constructor(problem: Problem) {
    super(problem.message);
    this.data = { ...(problem.hint !== undefined && { hint: problem.hint }) };
  }
}

export class Client implements Connection, vscode.Disposable {
  /** A message of the server. */
  onEvent: (event: AgentEvent) => void = () => undefined;
  /** The server has ended; with a problem when nobody asked it to. */
  onExit: (problem?: Problem) => void = () => undefined;
  /** What a server must be told before it is asked anything. */
  prepare: (send: Send) => Promise<void> = () => Promise.resolve();
  /** The server was started and has answered. */
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

  /** The server makes use of agent/diagnostics. */
  get takesDiagnostics(): boolean {
    const { experimental } = (this.running?.initializeResult?.capabilities ?? {}) as { experimental?: { agentLs?: { diagnostics?: boolean } } };
    return experimental?.agentLs?.diagnostics === true;
  }

  async request<M extends Method>(method: M, params: Requests[M]["params"]): Promise<Requests[M]["result"]> {
    return sender(await this.start())(method, params);
  }

  /** Undefined when none runs: none is started for it. */
  async whileRunning<Result>(ask: (send: Send) => Promise<Result>): Promise<Result | undefined> {
    return this.running && ask(sender(this.running));
  }

  /** Sent only while the server runs: nothing is started for it. */
  notify<N extends keyof Notifications>(method: N, params: Notifications[N]): void {
    this.running?.sendNotification(method, params).catch((error: unknown) => {
      this.log.warn(`${method}: ${String(error)}`);
    });
  }

  /** The text of a virtual document; undefined when the server has none, or does not run. */
  async textOf(uri: string): Promise<string | undefined> {
    if (this.running?.initializeResult?.capabilities.workspace?.textDocumentContent === undefined) return undefined;
    try {
      return (await this.running.sendRequest(TextDocumentContentRequest.type, { uri })).text;
    } catch (error) {
      this.log.warn(`${uri}: ${String(error)}`);
      return undefined;
    }
  }

  /** Ends the server, as closing the window does. */
  async stop(): Promise<void> {
    const client = this.running;
    if (!client) return;
    this.stopping = true;
    try {
      await client.stop();
    } finally {
      this.stopping = false;
      this.ended();
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
    const command = await this.find();
    if (!("program" in command)) throw new ProblemError(command);
    this.log.info(`starting ${[command.program, ...command.args].join(" ")}`);
    const client = this.make(command);
    client.registerFeature(new AgentFeature());
    client.onNotification(EVENT_METHOD, (event: AgentEvent) => { this.onEvent(event); });
    try {
      await client.start();
    } catch (error) {
      this.log.error(String(error));
      throw new ProblemError({ message: `The server ${command.program} did not start.`, hint: "See agent-ls: Show Log." });
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
      // Every file, whatever its language: the agent reads and edits what is open, not what is saved.
      documentSelector: [{ scheme: "file" }],
      initializationOptions: { [SECTION]: serverSettings() },
      // Ours only, and of the user only: what the workspace says of them has no say.
      middleware: { workspace: { configuration: ({ items }) => items.map(({ section }) => section === SECTION ? settingsNow() : null) } },
      outputChannel: this.log,
      traceOutputChannel: traceOf(this.log),
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => {
          // Starting again is the sessions' affair: they know whether there is something to go on with.
          if (!this.stopping) this.ended({ message: "The server ended unexpectedly.", hint: "See agent-ls: Show Log." });
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
    });
  }

  private ended(problem?: Problem): void {
    const wasRunning = this.running !== undefined;
    this.running = this.starting = undefined;
    if (wasRunning) this.onExit(problem);
  }
}

function sender(client: LanguageClient): Send {
  return (method, params) => client.sendRequest(method, params);
}

/** The log, but for what must not be in one, however much of the connection the user wants to see. */
function traceOf(log: Log): Log {
  const trace: Log["trace"] = (message, ...rest: unknown[]) => { log.trace(withoutSecrets(message), ...rest); };
  return Object.create(log, { trace: { value: trace } }) as Log;
}
