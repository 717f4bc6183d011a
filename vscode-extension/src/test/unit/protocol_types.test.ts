// req: H9
// Our types of messages are those of the server, field by field: each golden message is one of its type, and each type has
// the fields of the schema that tests/golden/protocol/schema.json is, optional where they are there.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import type { AgentEvent } from "../../protocol";
import { UNSPOKEN, examples, foldCases, golden, sessionEvents } from "../support/golden";
import { WireTypes, resolved, schema } from "../support/wire_types";

const FILES = ["requests.ts", "protocol.ts", "events.ts", "protocol_asked.ts"];

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

/** All that the made up server of the editor tests says: it speaks to a real window, which must not be told what no server tells. */
async function madeUp(): Promise<Message[]> {
  const server = spawn(process.execPath, ["../tests/editors/vscode/scripted_server.mjs"], { env: { ...process.env, SCRIPT_ITEMS: "30" }, stdio: ["pipe", "pipe", "inherit"] });
  for (const [id, [method, params]] of ASKED.entries()) {
    const text = JSON.stringify({ jsonrpc: "2.0", id, method, params });
    server.stdin.write(`Content-Length: ${text.length}\r\n\r\n${text}`);
  }
  let told = Buffer.alloc(0);
  const all: Message[] = [];
  for await (const chunk of server.stdout) {
    told = Buffer.concat([told, chunk as Buffer]);
    for (let start = told.indexOf("\r\n\r\n"); start !== -1; start = told.indexOf("\r\n\r\n")) {
      const end = start + 4 + Number(told.subarray(0, start).toString().split(": ")[1]);
      if (told.length < end) break;
      all.push(JSON.parse(told.subarray(start + 4, end).toString()) as Message);
      told = told.subarray(end);
    }
    // The last thing that it tells before it waits for the user.
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

/** Every golden message, or each of its parts, with the type that it is to be of. */
function* literals(): Generator<Literal> {
  for (const { method, params, result } of examples) {
    if (UNSPOKEN.includes(method)) continue;
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

const told = [...literals()];
const IMPORTS = `import type { Requests } from "./requests"; import type { AgentEvent, Notifications } from "./protocol"; \
import type { DeltaData, EventData, UnrecordedData } from "./events"; import type { ClientRequests } from "./protocol_asked";`;
const source = (all: readonly Literal[]) => [IMPORTS, ...all.map(({ type, value }) => `(${JSON.stringify(value)}) satisfies ${type};`)].join("\n");
const types = new WireTypes(FILES, source(told));

function problems(of: WireTypes, all: readonly Literal[]): string[] {
  return of.problems().map(({ line, text }) => `${all[line - 1]?.of ?? "the imports"}: ${text}`);
}

test("every golden message is of our type of it, without a field more", () => {
  assert.ok(told.length > 200);
  assert.deepEqual(problems(types, told), []);
});

test("what the made up server of the editor tests says is of our types too", async () => {
  const all = (await madeUp()).flatMap(({ id, result, params }): Literal[] => {
    if (params) return [...ofEvent(params)];
    const method = ASKED[id ?? -1]?.[0] ?? assert.fail();
    return [{ of: method, type: `Requests["${method}"]["result"]`, value: result }];
  });
  assert.ok(all.length > 2 * ASKED.length);
  assert.deepEqual(problems(new WireTypes(FILES, source(all)), all), []);
});

test("every request that we make has the fields of the server's", () => {
  const found = [...types.members(types.exported("Requests"))].flatMap(([method, sides]) => {
    const known = schema.methods[method];
    if (!known) return [`${method}: the server knows no such method`];
    return (["params", "result"] as const).flatMap((side) => types.misfits([types.member(sides, side)], [known[side]], `${method} ${side}`));
  });
  assert.deepEqual(found, []);
});

test("every notification that we send has the fields of the server's", () => {
  assert.deepEqual([...types.members(types.exported("Notifications"))].flatMap(([method, params]) =>
    types.misfits([params], schema.methods[method] ? [schema.methods[method].params] : [], method)), []);
});

test("what is asked of us, and what we answer, has the fields of the server's", () => {
  const ours = types.members(types.exported("ClientRequests"));
  assert.deepEqual([...ours.keys()].sort(), Object.keys(schema.clientRequests).sort());
  assert.deepEqual([...ours].flatMap(([what, sides]) => (["params", "result"] as const).flatMap((side) =>
    types.misfits([types.member(sides, side)], schema.clientRequests[what] ? [schema.clientRequests[what][side]] : [], `${what} ${side}`))), []);
});

test("every event has the fields of the server's, in its envelope and in its data", () => {
  const { Event = {} } = schema.$defs;
  const found = types.misfits([types.exported("AgentEvent")], [Event], "AgentEvent");
  const [recorded, unrecorded] = ["EventData", "UnrecordedData"].map((name) => types.members(types.exported(name)));
  const kinds = new Set<string>();
  for (const one of Event.anyOf ?? []) {
    const { kind, data, seq } = resolved(one).properties ?? {};
    assert.ok(kind && data);
    const name = typeof kind.const === "string" ? kind.const : "a delta";
    kinds.add(name);
    const type = kind.const === undefined ? types.exported("DeltaData") : (seq ? recorded : unrecorded)?.get(name);
    found.push(...(type ? types.misfits([type], [data], name) : [`${name}: it is missing`]));
  }
  for (const name of [...(recorded ?? []), ...(unrecorded ?? [])].map(([each]) => each)) if (!kinds.has(name)) found.push(`${name}: the server tells no such event`);
  assert.deepEqual(found, []);
});
