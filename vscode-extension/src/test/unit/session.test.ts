// req: H3, H9, H12
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Configuration, SubscribeResult } from "../../connection/protocol";
import type { Change, EditorContext } from "../../sessions/interfaces";
import { Sessions } from "../../sessions/session";
import { FakeConnection, sessionInfo, subscription } from "../support/fake_connection";
import { delta, recorded } from "../support/golden";

let keys = 0;
const AROUND: EditorContext = { newKey: () => `key-${++keys}`, folder: () => "file:///w", configuration: () => ({ mode: "ask" }), log: () => undefined };
const TEXT = [{ type: "text", text: "hi" }] as const;

function make(answers: FakeConnection["answers"] = {}, around: Partial<EditorContext> = {}) {
  const connection = new FakeConnection({
    "agent/newSession": () => ({ session: sessionInfo("s1") }),
    "agent/subscribe": ({ sessionId }) => subscription(sessionId),
    "agent/submit": () => ({ turnId: "t1" }),
    "agent/unsubscribe": () => ({}),
    ...answers,
  });
  const sessions = new Sessions(connection, { ...AROUND, ...around });
  const changes: Change[] = [];
  sessions.listen((change) => changes.push(change));
  const said = () => sessions.snapshot.items.flatMap((item) => (item.kind === "notice" ? [item.text] : []));
  return { connection, sessions, changes, said };
}

test("the first message creates a session in the open folder", async () => {
  const { connection, sessions } = make();
  assert.equal(await sessions.submit(TEXT), true);
  assert.deepEqual(connection.methods(), ["agent/newSession", "agent/subscribe", "agent/submit"]);
  assert.equal(connection.asked[0]?.params["workspaceFolder"], "file:///w");
  assert.equal(connection.asked[2]?.params["whenBusy"], "steer");
  assert.equal(sessions.currentId, "s1");
});

test("before the first message the server's mode is shown where the user has chosen none", () => {
  let settings: Configuration = {};
  const { sessions } = make({}, { configuration: () => settings, defaults: () => ({ mode: "full" }) });
  assert.equal(sessions.snapshot.session.mode, "full");
  settings = { mode: "plan" };
  assert.equal(sessions.snapshot.session.mode, "plan");
});

test("before the first message the mode of the next session is shown", async () => {
  let settings: Configuration = { mode: "edits" };
  const { sessions, changes } = make({}, { configuration: () => settings });
  assert.equal(sessions.snapshot.session.mode, "edits");
  settings = { mode: "full" };
  sessions.onSettings();
  assert.deepEqual([changes.length, sessions.snapshot.session.mode], [1, "full"]);
  await sessions.configure({ mode: "plan" });
  assert.equal(sessions.snapshot.session.mode, "plan");
});

test("without a folder nothing is sent and the user gets a message", async () => {
  const { connection, sessions, said } = make({}, { folder: () => undefined });
  assert.equal(await sessions.submit(TEXT), false);
  assert.deepEqual([connection.methods(), said()], [[], ["No folder is open."]]);
});

test("every request that changes something has its own client key", async () => {
  const { connection, sessions } = make({ "agent/interrupt": () => ({}), "agent/followUp": () => ({ queuedId: "q" }) });
  await sessions.submit(TEXT);
  await sessions.submit(TEXT, "queue");
  await sessions.submit(TEXT, "stopFirst");
  const given = connection.asked.filter(({ method }) => method !== "agent/subscribe").map(({ params }) => params["clientKey"]);
  assert.equal(new Set(given).size, 4);
  assert.deepEqual(connection.methods().slice(2), ["agent/submit", "agent/followUp", "agent/interrupt"]);
  assert.deepEqual(connection.asked.at(-1)?.params["thenSubmit"], TEXT);
});

test("a refused message returns false, and the hint is in the transcript", async () => {
  const { sessions } = make({
    "agent/submit": () => Promise.reject(Object.assign(new Error("no key"), { data: { hint: "Set one." } })),
  });
  assert.equal(await sessions.submit(TEXT), false);
  const last = sessions.snapshot.items.at(-1);
  assert.deepEqual(last?.kind === "notice" && [last.text, last.hint, last.level], ["no key", "Set one.", "error"]);
});

test("events before the answer to subscribe are applied after it", async () => {
  let answer: (result: SubscribeResult) => void = () => undefined;
  const { sessions } = make({ "agent/subscribe": () => new Promise<SubscribeResult>((resolve) => (answer = resolve)) });
  const opened = sessions.open("s1");
  sessions.onEvent(recorded(2, "user_input", { text: "second" }));
  answer(subscription("s1", { events: [recorded(1, "user_input", { text: "first" })], lastSeq: 1 }));
  await opened;
  assert.deepEqual(sessions.snapshot.items.map((item) => item.kind === "user" && item.text), ["first", "second"]);
});

test("a gap requests the missing events, from the last seq on", async () => {
  const { connection, sessions } = make();
  await sessions.open("s1");
  connection.answers["agent/subscribe"] = () =>
    subscription("s1", { events: [recorded(1, "user_input", { text: "one" }), recorded(2, "user_input", { text: "two" })], lastSeq: 2 });
  sessions.onEvent(recorded(2, "user_input", { text: "two" }));
  await new Promise(setImmediate);
  assert.deepEqual(connection.asked.map(({ params }) => params["since"]), [0, 0]);
  assert.equal(sessions.snapshot.items.length, 2);
});

test("a gap that the server never closes is not requested forever", async () => {
  const { connection, sessions } = make();
  await sessions.open("s1");
  for (let i = 0; i < 20; i++) {
    sessions.onEvent(delta("assistant_text_delta", "p", 5, "x"));
    await new Promise(setImmediate);
  }
  assert.equal(connection.methods().length, 1 + 3);
});

test("after a server restart the next message continues the session", async () => {
  const { connection, sessions, changes, said } = make();
  await sessions.submit(TEXT);
  sessions.onEvent(recorded(1, "state", { state: "PROCESSING" }));
  connection.isRunning = false;
  sessions.onExit({ message: "The server ended." });
  assert.deepEqual([sessions.snapshot.state, said(), changes.some(({ forgotten }) => forgotten === true)], ["IDLE", ["The server ended."], true]);
  connection.answers["agent/subscribe"] = () => subscription("s1", { lastSeq: 1 });
  connection.asked.length = 0;
  assert.equal(await sessions.submit(TEXT), true);
  assert.deepEqual(connection.methods(), ["agent/subscribe", "agent/submit"]);
});

test("opening another session unsubscribes from the current one", async () => {
  const { connection, sessions } = make();
  await sessions.open("s1");
  await sessions.open("s2");
  assert.equal(sessions.currentId, "s2");
  assert.deepEqual(connection.asked.at(-1), { method: "agent/unsubscribe", params: { sessionId: "s1" } });
});

test("hunks that were not decided are reported with the reason", async () => {
  const { sessions, said } = make({ "agent/review": () => ({ changed: [], refused: [{ id: "h", reason: "It was kept before." }] }) });
  await sessions.review({ hunkIds: ["h"], verdict: "undo" });
  assert.deepEqual(said(), ["It was kept before."]);
});

test("an approval is sent with the offered rule, or once without one", async () => {
  const { connection, sessions } = make({ "agent/approve": () => ({ decision: "allow", decidedBy: "c1" }) });
  await sessions.open("s1");
  sessions.onEvent(recorded(1, "approval_requested", { requestId: "a1", summary: "ls", rules: [] }));
  const item = sessions.snapshot.requests.get("a1");
  assert.ok(item);
  await sessions.approve(item, { decision: "allow", scope: "session", ruleId: "r1" });
  await sessions.approve(item, { decision: "deny", reason: "no" });
  const sent = connection.asked.slice(1).map(({ params: { decision, scope, ruleId, reason } }) => ({ decision, scope, ruleId, reason }));
  assert.deepEqual(sent, [
    { decision: "allow", scope: "session", ruleId: "r1", reason: undefined },
    { decision: "deny", scope: "once", ruleId: undefined, reason: "no" },
  ]);
});

test("a message sent while a session is created belongs to it", async () => {
  const { connection, sessions } = make();
  const [made, arrived] = await Promise.all([sessions.create({ provider: "walkthrough" }), sessions.submit(TEXT)]);
  assert.deepEqual([made, arrived], [true, true]);
  assert.deepEqual(connection.methods(), ["agent/newSession", "agent/subscribe", "agent/submit"]);
});

test("a session requested while a message creates one is the same", async () => {
  const { connection, sessions } = make();
  assert.deepEqual(await Promise.all([sessions.submit(TEXT), sessions.create(), sessions.create()]), [true, true, true]);
  assert.deepEqual(connection.methods(), ["agent/newSession", "agent/subscribe", "agent/submit"]);
  await Promise.all([sessions.create({ provider: "walkthrough" }), sessions.create()]);
  assert.equal(connection.methods().filter((method) => method === "agent/newSession").length, 3, "others are others");
});

test("a selected model is remembered for new sessions, other settings are not", async () => {
  const { connection, sessions } = make({ "agent/configure": () => ({ session: sessionInfo("s1"), appliesFrom: "now" }) });
  await sessions.create();
  await sessions.configure({ provider: "ollama", model: "qwen" });
  await sessions.configure({ mode: "plan" });
  const remembered = connection.asked.filter(({ method }) => method === "agent/configure").map(({ params }) => params["remember"]);
  assert.deepEqual(remembered, [true, undefined]);
});
