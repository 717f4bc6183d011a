// req: H22
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Snapshot } from "../../snapshot/items";
import type { SessionInfo } from "../../connection/protocol";
import { Sessions } from "../../sessions/session";
import { newSnapshot, planOf, applySubscription } from "../../snapshot/snapshot";
import { FakeConnection, sessionInfo, subscription } from "../support/fake_connection";
import { recorded } from "../support/golden";

const PLAN = "1. Read.\n2. Write.";
const EVENTS = [
  recorded(1, "user_input", { text: "What would you do?" }),
  recorded(2, "assistant_text_start", { partId: "p1" }),
  recorded(3, "assistant_text_end", { partId: "p1", text: PLAN, interrupted: false, reasoning: "" }),
];

function after(session: Partial<SessionInfo>): Snapshot {
  const s = newSnapshot();
  applySubscription(s, subscription("s1", { session: sessionInfo("s1", session), events: EVENTS, lastSeq: 3 }));
  return s;
}

test("the plan is the last answer of an idle session in mode plan", () => {
  assert.equal(planOf(after({ mode: "plan" })), PLAN);
});

test("there is no plan in another mode, in a session of another editor, while the agent works, and before an answer", () => {
  assert.equal(planOf(after({ mode: "ask" })), undefined);
  assert.equal(planOf(after({ mode: "plan", access: "readOnly" })), undefined);
  const working = after({ mode: "plan" });
  working.state = "PROCESSING";
  assert.equal(planOf(working), undefined);
  assert.equal(planOf(newSnapshot()), undefined);
});

test("accepting sends the edited text with the next mode, and the session has that mode", async () => {
  const connection = new FakeConnection({
    "agent/newSession": () => ({ session: sessionInfo("s1", { mode: "plan" }) }),
    "agent/subscribe": ({ sessionId }) => subscription(sessionId),
    "agent/acceptPlan": ({ mode }) => ({ session: sessionInfo("s1", { mode }), turnId: "t2" }),
  });
  const sessions = new Sessions(connection, { newKey: () => "key", folder: () => "file:///w", configuration: () => ({}), log: () => undefined });
  await sessions.create();
  assert.equal(await sessions.acceptPlan("1. Only read.", "edits"), true);
  const { method, params } = connection.asked.at(-1) ?? {};
  assert.deepEqual([method, params], ["agent/acceptPlan", { sessionId: "s1", clientKey: "key", text: "1. Only read.", mode: "edits" }]);
  assert.equal(sessions.snapshot.session.mode, "edits");
});

test("a refused plan is reported, and the mode stays", async () => {
  const connection = new FakeConnection({
    "agent/newSession": () => ({ session: sessionInfo("s1") }),
    "agent/subscribe": ({ sessionId }) => subscription(sessionId, { session: sessionInfo("s1", { mode: "plan" }) }),
    "agent/acceptPlan": () => Promise.reject(Object.assign(new Error("the plan is empty"), { data: { hint: "Write it." } })),
  });
  const sessions = new Sessions(connection, { newKey: () => "key", folder: () => "file:///w", configuration: () => ({}), log: () => undefined });
  await sessions.create();
  assert.equal(await sessions.acceptPlan(" ", "ask"), false);
  assert.equal(sessions.snapshot.session.mode, "plan");
  assert.ok(sessions.snapshot.items.some((item) => item.kind === "notice" && item.text.includes("the plan is empty")));
});
