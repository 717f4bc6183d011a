// req: H9
// The generated types match real messages: each golden message is compiled against its type.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import type { AgentEvent } from "../../connection/protocol";
import { UNUSED_METHODS, examples, foldCases, golden, sessionEvents } from "../support/golden";
import { WireTypes } from "../support/wire_types";

interface Message {
  readonly id?: number;
  readonly result?: unknown;
  readonly params?: AgentEvent;
}

const ASKED: readonly (readonly [string, object])[] = [
  ["agent/newSession", {}], ["agent/sessions", {}], ["agent/subscribe", { since: 0 }], ["agent/history", { before: 12, limit: 10 }], ["agent/models", {}],
  ["agent/commands", {}], ["agent/complete", { query: "cart" }], ["agent/terminals", {}], ["agent/review", {}], ["agent/unsubscribe", {}],
  ["agent/configure", {}], ["agent/queue", { remove: "q9" }], ["agent/approve", { requestId: "a", decision: "allow", replacement: { command: "ls" } }],
  ["agent/interrupt", {}], ["agent/submit", { input: [{ type: "text", text: "show" }] }],
];

/** All messages of the fake server of the editor tests; a real window gets them, so they must be valid protocol. */
async function madeUp(): Promise<Message[]> {
  const server = spawn(process.execPath, ["../tests/editors/vscode/scripted_server.mjs"], { env: { ...process.env, SCRIPT_ITEMS: "30" }, stdio: ["pipe", "pipe", "inherit"] });
  for (const [id, [method, params]] of ASKED.entries()) {
    const text = JSON.stringify({ jsonrpc: "2.0", id, method, params });
    server.stdin.write(`Content-Length: ${text.length}\r\n\r\n${text}`);
  }
  let received = Buffer.alloc(0);
  const all: Message[] = [];
  for await (const chunk of server.stdout) {
    received = Buffer.concat([received, chunk as Buffer]);
    for (let start = received.indexOf("\r\n\r\n"); start !== -1; start = received.indexOf("\r\n\r\n")) {
      const end = start + 4 + Number(received.subarray(0, start).toString().split(": ")[1]);
      if (received.length < end) break;
      all.push(JSON.parse(received.subarray(start + 4, end).toString()) as Message);
      received = received.subarray(end);
    }
    // The scripted server's last event before it waits for the user.
    if (all.some(({ params }) => params?.kind === "approval_requested")) break;
  }
  server.kill();
  return all;
}

interface Literal {
  readonly of: string;
  readonly type: string;
  readonly value: unknown;
}

function* ofEvent(message: AgentEvent): Generator<Literal> {
  yield { of: message.kind, type: "AgentEvent", value: message };
  const table = message.seq !== undefined ? "EventData" : message.kind.endsWith("_delta") ? "DeltaData" : "UnrecordedData";
  yield { of: `${message.kind}, data`, type: table === "DeltaData" ? table : `${table}["${message.kind}"]`, value: message.data };
}

/** Yields every golden message, or each of its parts, with the type that it must have. */
function* literals(): Generator<Literal> {
  for (const { method, params, result } of examples) {
    if (UNUSED_METHODS.includes(method)) continue;
    const isNotification = result === null;
    yield { of: `${method}, params`, type: isNotification ? `Notifications["${method}"]` : `Requests["${method}"]["params"]`, value: params };
    if (!isNotification) yield { of: `${method}, result`, type: `Requests["${method}"]["result"]`, value: result };
  }
  const { event, asked } = golden("client_request.json") as { event: AgentEvent; asked: Record<string, { params: unknown; result: unknown }> };
  const { event: access } = golden("access.json") as { event: AgentEvent };
  const folded = foldCases.flatMap(({ steps }) => steps.flatMap((step) => step.event ?? step.subscribed?.events ?? []));
  for (const message of [...sessionEvents, ...folded, event, access]) if (message.kind !== "from_the_future") yield* ofEvent(message);
  for (const { subscribed } of foldCases.flatMap(({ steps }) => steps)) {
    if (subscribed) yield { of: "agent/subscribe, result", type: `Requests["agent/subscribe"]["result"]`, value: subscribed };
  }
  const { answers } = golden("language.json") as { answers: Record<string, unknown> };
  for (const [what, result] of Object.entries(answers)) yield { of: `${what}, result`, type: `ClientRequests["${what}"]["result"]`, value: result };
  for (const [what, { params, result }] of Object.entries(asked)) {
    yield { of: `${what}, params`, type: `ClientRequests["${what}"]["params"]`, value: params };
    yield { of: `${what}, result`, type: `ClientRequests["${what}"]["result"]`, value: result };
  }
}

const samples = [...literals()];
const IMPORTS = `import type { AgentEvent, ClientRequests, DeltaData, EventData, Notifications, Requests, UnrecordedData } from "./connection/protocol";`;
const source = (all: readonly Literal[]) => [IMPORTS, ...all.map(({ type, value }) => `(${JSON.stringify(value)}) satisfies ${type};`)].join("\n");
const types = new WireTypes(source(samples));

function problems(of: WireTypes, all: readonly Literal[]): string[] {
  return of.problems().map(({ line, text }) => `${all[line - 1]?.of ?? "the imports"}: ${text}`);
}

test("every golden message matches its type, without extra fields", () => {
  assert.ok(samples.length > 200);
  assert.deepEqual(problems(types, samples), []);
});

test("messages of the scripted server in the editor tests match the types", async () => {
  const all = (await madeUp()).flatMap(({ id, result, params }): Literal[] => {
    if (params) return [...ofEvent(params)];
    const method = ASKED[id ?? -1]?.[0] ?? assert.fail();
    return [{ of: method, type: `Requests["${method}"]["result"]`, value: result }];
  });
  assert.ok(all.length > 2 * ASKED.length);
  assert.deepEqual(problems(new WireTypes(source(all)), all), []);
});
