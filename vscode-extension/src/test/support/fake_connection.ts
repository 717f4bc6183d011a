// A fake connection that answers requests from a table and records them.
import type { Method, Notifications, Requests, SessionInfo, SubscribeResult } from "../../connection/protocol";
import type { Connection } from "../../sessions/interfaces";

export interface Asked {
  readonly method: Method;
  readonly params: Record<string, unknown>;
}

type Answers = { [M in Method]?: (params: Requests[M]["params"]) => Requests[M]["result"] | Promise<Requests[M]["result"]> };

export class FakeConnection implements Connection {
  readonly asked: Asked[] = [];
  readonly notifications: { readonly method: string; readonly params: unknown }[] = [];
  isRunning = true;

  constructor(readonly answers: Answers) {}

  async request<M extends Method>(method: M, params: Requests[M]["params"]): Promise<Requests[M]["result"]> {
    this.asked.push({ method, params: params as unknown as Record<string, unknown> });
    this.isRunning = true;
    const answer = this.answers[method] as ((given: Requests[M]["params"]) => Promise<Requests[M]["result"]>) | undefined;
    if (!answer) throw Object.assign(new Error(`nobody answers ${method}`), { data: { kind: "test", hint: "Add an answer." } });
    return answer(params);
  }

  notify<N extends keyof Notifications>(method: N, params: Notifications[N]): void {
    this.notifications.push({ method, params });
  }

  methods(): string[] {
    return this.asked.map(({ method }) => method);
  }
}

export function sessionInfo(id: string, more: Partial<SessionInfo> = {}): SessionInfo {
  return {
    id, title: "", state: "IDLE", provider: "walkthrough", model: "walkthrough", mode: "ask", review: "after", workspaceFolder: "file:///w",
    created: "", updated: "", lastSeq: 0, live: true, access: "owner", isWalkthrough: true, activity: "idle", queue: [], steering: [], ...more,
  };
}

export const NOTHING_PENDING: SubscribeResult["pending"] = { approvals: [], questions: [], hunks: [] };

export function subscription(id: string, more: Partial<SubscribeResult> = {}): SubscribeResult {
  return { clientId: "c1", session: sessionInfo(id), events: [], lastSeq: 0, openParts: [], pending: NOTHING_PENDING, ...more };
}
