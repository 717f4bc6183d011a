// req: H3, H9
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EventData } from "../../connection/protocol";
import type { Item, Snapshot } from "../../snapshot/items";
import { findActivity, addNotice, applyEvent, takeChangedItems, newSnapshot, pendingApprovals, applySubscription } from "../../snapshot/snapshot";
import { NOTHING_PENDING } from "../support/fake_connection";
import { foldCases, recorded, sessionEvents, tokens } from "../support/golden";

/** Returns only those fields of an item that the golden file contains. */
function viewOf(item: Item, wanted: Record<string, unknown>): Record<string, unknown> {
  const part = "part" in item ? item.part : undefined;
  const known: Record<string, unknown> = { ...item, ...(part && { text: part.text, open: part.open }) };
  return Object.fromEntries(Object.keys(wanted).map((name) => [name, known[name]]));
}

for (const { name, steps, outcomes, view } of foldCases) {
  test(`golden: ${name}`, () => {
    const s = newSnapshot();
    const got = steps.map(({ event, subscribed: result }) => {
      if (event) return applyEvent(s, event);
      assert.ok(result);
      return applySubscription(s, result);
    });
    assert.deepEqual(got, outcomes);
    assert.equal(s.lastSeq, view.lastSeq);
    assert.equal(s.state, view.state);
    assert.deepEqual(s.items.map((item, i) => viewOf(item, view.items[i] ?? {})), view.items);
    assert.deepEqual(pendingApprovals(s).map((item) => item.id), view.pending ?? []);
    assert.deepEqual(s.queue.map((item) => item.queuedId), view.queue ?? []);
  });
}

function wholeSession(): Snapshot {
  const s = newSnapshot();
  for (const event of sessionEvents) assert.equal(applyEvent(s, event), "applied", event.kind);
  return s;
}

test("the events of a whole session are reduced to the golden items", () => {
  const shown = wholeSession().items.map((item) => ("status" in item ? `${item.kind} ${item.status}` : item.kind));
  assert.deepEqual(shown, [
    "user", "reasoning", "text", "tool done", "tool done", "file", "tool done", "approval allow", "steer injected",
    "steer removed", "retry", "notice", "notice", "compaction done", "notice", "tool failed", "approval deny", "subagent completed",
    "text", "question answered", "notice", "end", "reverted",
  ]);
});

test("the snapshot of a whole session has what views need", () => {
  const s = wholeSession();
  assert.equal(s.session.title, "Never let the total be negative");
  const parts = { system: 500, tools: 300, documents: 60, history: 220, toolOutput: 200 };
  const usage = { inputTokens: 1200, outputTokens: 80, cacheReadTokens: 800, contextTokens: 1280, contextWindowTokens: 200000, totalCostUsd: 0.00264, parts };
  assert.deepEqual(s.usage, usage);
  assert.equal(s.hunks.get("h1")?.state, "kept");
  assert.deepEqual([s.terminals.get("term1")?.running, s.terminals.get("term1")?.exitCode], [false, 0]);
  assert.equal(s.calls.get("c3")?.terminalId, "term1");
  assert.deepEqual(s.queue, []);
  assert.equal(findActivity(s), "idle", "a failure closed it: the next message opens it again");
});

test("split events and events of a subscription reduce to the same items", () => {
  const events = sessionEvents.filter((event) => event.seq !== undefined);
  const live = wholeSession();
  const s = newSnapshot();
  const session = { ...live.session, state: "CLOSED" } as Parameters<typeof applySubscription>[1]["session"];
  assert.equal(applySubscription(s, { clientId: "c", session, events, lastSeq: events.length, openParts: [], pending: NOTHING_PENDING }), "applied");
  const plain = (items: Item[]) => items.map((item) => JSON.stringify(item, (key, value: unknown) => (key === "revision" ? 0 : value)));
  assert.deepEqual(plain(s.items), plain(live.items));
});

test("each change is reported once", () => {
  const s = wholeSession();
  assert.equal(takeChangedItems(s).length, s.items.length);
  assert.deepEqual(takeChangedItems(s), []);
  addNotice(s, "warn", "careful", "do this");
  assert.deepEqual(takeChangedItems(s).map((item) => item.kind), ["notice"]);
});

test("the activity is described for the user", () => {
  const s = newSnapshot();
  assert.equal(findActivity(s), "idle");
  applyEvent(s, recorded(1, "state", { state: "PROCESSING" }));
  assert.equal(findActivity(s), "working");
  applyEvent(s, recorded(2, "approval_requested", { requestId: "a", summary: "ls", rules: [] }));
  assert.equal(findActivity(s), "waiting");
  applyEvent(s, recorded(3, "approval_resolved", { requestId: "a", decision: "allow", reason: "" }));
  assert.equal(findActivity(s), "working");
});

test("closing and reopening a session adds no items", () => {
  const titles = (reason: EventData["session_end"]["reason"]): string[] => {
    const s = newSnapshot();
    applyEvent(s, recorded(1, "session_end", { state: "CLOSED", reason }));
    applyEvent(s, recorded(2, "session_start", { provider: "p", model: "m", resumed: true }));
    return s.items.flatMap((item) => ("text" in item ? [item.text] : []));
  };
  assert.deepEqual(titles("suspended"), []);
  assert.deepEqual(titles("completed"), []);
});

// req: X10
test("rolled back items are not part of the conversation until the roll back is reverted", () => {
  const s = newSnapshot();
  const base = { conversation: true, turns: [], restoredTurns: [], files: [] };
  const out = () => s.items.map((item) => item.isOut === true);
  applyEvent(s, { ...recorded(1, "user_input", { text: "one" }), turnId: "t1" });
  applyEvent(s, { ...recorded(2, "user_input", { text: "two" }), turnId: "t2" });
  applyEvent(s, recorded(3, "reverted", { ...base, revertId: "r1", turns: ["t2"] }));
  assert.deepEqual(out(), [false, true, false]);
  applyEvent(s, recorded(4, "reverted", { ...base, revertId: "r2", restoredTurns: ["t2"] }));
  assert.deepEqual(out(), [false, false, false, false]);
  applyEvent(s, recorded(5, "reverted", { ...base, revertId: "r3", turns: ["t2"], conversation: false }));
  assert.equal(out()[1], false);
});

test("items of a subagent belong to it, and its context window is not the session's", () => {
  const s = newSnapshot();
  const usage = (inputTokens: number, contextTokens: number) => ({ total: tokens(inputTokens, 1), contextTokens, contextWindowTokens: 100, totalCostUsd: 1 });
  const about = { agentId: "agent_1", task: "Look", reason: "", output: "" } as const;
  applyEvent(s, recorded(1, "usage", usage(10, 50)));
  applyEvent(s, recorded(2, "subagent", { ...about, status: "running", turnsUsed: 0 }));
  applyEvent(s, { ...recorded(3, "tool_call_start", { callId: "c", name: "grep", arguments: "{}", summary: "x" }), agentId: "agent_1" });
  applyEvent(s, { ...recorded(4, "plan", { explanation: "", items: [] }), agentId: "agent_1" });
  applyEvent(s, { ...recorded(5, "usage", usage(30, 90)), agentId: "agent_1" });
  applyEvent(s, recorded(6, "subagent", { ...about, status: "completed", output: "Found.", turnsUsed: 2 }));
  assert.deepEqual(s.items.map(({ kind, agentId }) => [kind, agentId]), [["subagent", undefined], ["tool", "agent_1"]]);
  assert.deepEqual([s.plan, s.usage?.inputTokens, s.usage?.contextTokens], [undefined, 30, 50]);
});
