// req: H20
// A turn for another chat of the editor: its progress reports, its end, and its session.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApprovalItem, FileItem, ToolItem } from "../../snapshot/items";
import { type TurnView, openSession, runTurn } from "../../native/turn";
import { Sessions } from "../../sessions/session";
import { FakeConnection, sessionInfo, subscription } from "../support/fake_connection";
import { sessionEvents } from "../support/golden";

class Seen implements TurnView {
  readonly texts: string[] = [];
  readonly others: string[] = [];
  showText(words: string): void { this.texts.push(words); }
  showTool({ name }: ToolItem): void { this.others.push(`tool ${name}`); }
  showFile({ path }: FileItem): void { this.others.push(`file ${path}`); }
  showApproval({ id }: ApprovalItem): void { this.others.push(`approval ${id}`); }
  showProblem(words: string): void { this.others.push(`problem ${words}`); }
}

const NEVER = { isCancellationRequested: false, onCancellationRequested: () => ({ dispose: () => undefined }) };

function make() {
  const connection = new FakeConnection({
    "agent/newSession": () => ({ session: sessionInfo("s1") }),
    "agent/subscribe": ({ sessionId }) => subscription(sessionId),
    "agent/unsubscribe": () => ({}),
    "agent/interrupt": () => ({}),
    "agent/submit": () => ({ turnId: "t1", started: true }) as never,
  });
  let keys = 0;
  const sessions = new Sessions(connection, { newKey: () => `k${keys += 1}`, folder: () => "file:///w", configuration: () => ({}), log: () => undefined });
  return { connection, sessions };
}

test("the first message creates a session, the next one goes to the same", async () => {
  const { connection, sessions } = make();
  assert.equal(await openSession(sessions, undefined), "s1");
  assert.equal(await openSession(sessions, "s1"), "s1");
  assert.equal(await openSession(sessions, "s2"), "s2");
  assert.equal(connection.methods().filter((method) => method === "agent/newSession").length, 1);
});

test("a message that cannot be sent ends the turn, and the failure is reported", async () => {
  const { connection, sessions } = make();
  await openSession(sessions, undefined);
  delete connection.answers["agent/submit"];
  const seen = new Seen();
  assert.equal(await runTurn(sessions, [{ type: "text", text: "hi" }], seen, NEVER), undefined);
  assert.deepEqual(seen.others, ["problem nobody answers agent/submit"]);
});

test("a turn of a session that is no longer displayed ends for the other chat", async () => {
  const { sessions } = make();
  await openSession(sessions, undefined);
  const end = runTurn(sessions, [{ type: "text", text: "hi" }], new Seen(), NEVER);
  await sessions.open("s2");
  assert.equal((await end)?.sessionId, "s1");
});

test("stopping in the other chat interrupts the turn", async () => {
  const { connection, sessions } = make();
  await openSession(sessions, undefined);
  let stop: () => void = () => undefined;
  const running = runTurn(sessions, [{ type: "text", text: "hi" }], new Seen(), { isCancellationRequested: false, onCancellationRequested: (listener) => { stop = listener; return { dispose: () => undefined }; } });
  stop();
  await sessions.open("s2");
  await running;
  assert.ok(connection.methods().includes("agent/interrupt"));
});

test("another chat gets the texts, calls, files, approvals and problems of a turn, each once", async () => {
  const { sessions } = make();
  await openSession(sessions, undefined);
  const seen = new Seen();
  const running = runTurn(sessions, [{ type: "text", text: "hi" }], seen, NEVER);
  for (const event of sessionEvents) sessions.onEvent({ ...event, sessionId: "s1" });
  const end = await running;
  assert.ok(end);
  const kinds = seen.others.map((each) => each.split(" ")[0]);
  assert.ok(seen.texts.length > 0 && kinds.includes("tool") && kinds.includes("file") && kinds.includes("approval"), JSON.stringify(seen));
  assert.equal(new Set(seen.others).size, seen.others.length, "each is reported once");
  assert.ok(end.text !== "" && seen.texts.join("").includes(end.text));
  assert.equal(end.files.length, kinds.filter((kind) => kind === "file").length);
});
