// The WebSocket connection of the page to `agent-ls panel`. Reconnects when the connection is lost.
import type { AgentEvent, Method, Requests, SubscribeResult } from "../connection/protocol";
import type { Connection } from "../sessions/interfaces";

const RETRY_MS = 1_000;

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

interface Incoming {
  readonly id?: number;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
}

const LOST = { message: "The panel is not connected.", data: { hint: "The panel reconnects automatically. If it does not, start agent-ls panel again." } };

export class PanelConnection implements Connection {
  onEvent: (event: AgentEvent) => void = () => undefined;
  /** Called when the connection is opened, and when it is lost. */
  onState: (isConnected: boolean) => void = () => undefined;
  private socket: WebSocket | undefined;
  private lastId = 0;
  private readonly waiting = new Map<number, Waiting>();

  /** `session`: the displayed session, for requests that do not name one. */
  constructor(private readonly session: () => string | undefined) {}

  get isRunning(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  connect(): void {
    const { protocol, host } = window.location;
    const socket = new WebSocket(`${protocol === "https:" ? "wss" : "ws"}://${host}/socket`);
    this.socket = socket;
    socket.addEventListener("open", () => { this.onState(true); });
    socket.addEventListener("message", ({ data }) => { this.take(JSON.parse(String(data)) as Incoming); });
    socket.addEventListener("close", () => {
      for (const { reject } of this.waiting.values()) reject(LOST);
      this.waiting.clear();
      this.onState(false);
      setTimeout(() => { this.connect(); }, RETRY_MS);
    });
  }

  async request<M extends Method>(method: M, params: Requests[M]["params"]): Promise<Requests[M]["result"]> {
    const result = (await this.call(method, params)) as Requests[M]["result"];
    // The stored draft belongs to the prompt of the session's owner, not to the prompt of this page.
    if (method === "agent/subscribe") delete (result as { draft?: SubscribeResult["draft"] }).draft;
    return result;
  }

  notify(): void {
    // Sends nothing: the only notification is agent/draft, and the panel keeps drafts in the page.
  }

  /** Sends a request with any method, including the panel's own (`panel/…`). */
  call(method: string, params: object): Promise<unknown> {
    const { socket } = this;
    if (socket?.readyState !== WebSocket.OPEN) return Promise.reject(new PanelError(LOST));
    const id = ++this.lastId;
    const { sessionId } = params as { sessionId?: string };
    socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params, session: sessionId ?? this.session() }));
    return new Promise((resolve, reject) => { this.waiting.set(id, { resolve, reject }); });
  }

  private take({ id, method, params, result, error }: Incoming): void {
    if (method === "agent/event") this.onEvent(params as AgentEvent);
    const asked = id === undefined ? undefined : this.waiting.get(id);
    if (id === undefined || !asked) return;
    this.waiting.delete(id);
    if (error === undefined) asked.resolve(result);
    else asked.reject(error);
  }
}

/** An error with a hint, as problemOf expects it. */
class PanelError extends Error {
  readonly data: { readonly hint: string };

  constructor({ message, data }: typeof LOST) {
    super(message);
    this.data = data;
  }
}
