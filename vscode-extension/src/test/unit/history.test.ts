// req: H9
import assert from "node:assert/strict";
import { test } from "node:test";
import { Feed } from "../../chat/feed";
import { restoreSnapshot, prependHistory } from "../../snapshot/history";
import type { StoredItem, SubscribeResult } from "../../connection/protocol";
import { applyEvent, newSnapshot, pendingApprovals, applySubscription } from "../../snapshot/snapshot";
import type { EndView } from "../../webview/messages";
import { NOTHING_PENDING, sessionInfo, subscription } from "../support/fake_connection";
import { delta, recorded, sessionEvents } from "../support/golden";

function stored<K extends StoredItem["kind"]>(seq: number, kind: K, data: Omit<Extract<StoredItem, { kind: K }>, "id" | "seq" | "turnId" | "timestamp" | "kind" | "agentId">, turnId = "t1"): StoredItem {
  return { id: `i${seq}`, seq, turnId, timestamp: "", kind, ...data } as unknown as StoredItem;
}

const FILE = { path: "/w/a.py", uri: "file:///w/a.py", action: "modify", added: 2, removed: 1 } as const;
const REQUEST = { requestId: "a1", callId: "c2", tool: "shell", summary: "ls", reason: "", effect: { type: "CommandEffect", command: "ls", workingDir: "/w", envVars: [], background: false }, digest: "d", rules: [], agentId: "", cause: "mode" } as const;

const NEWEST_FIRST = [
  stored(20, "approval", { request: REQUEST, status: "pending" }),
  stored(19, "text", { partId: "p2", text: "Now I", interrupted: false }),
  stored(18, "file", { ...FILE, callId: "c1", diff: "", hunks: [], copyOf: "" }),
  stored(17, "tool", { callId: "c1", name: "shell", summary: "make", arguments: "{}", status: "running", terminalId: "term1" }),
  stored(16, "steer", { steerId: "st1", text: "faster", status: "waiting" }),
  stored(15, "user", { text: "go on" }),
  stored(14, "end", { reason: "completed", files: [] }, "t0"),
];

function opened(more: Partial<SubscribeResult> = {}) {
  const result = subscription("s1", {
    lastSeq: 20,
    openParts: [{ partId: "p2", kind: "assistant_text_delta", text: "Now I see", name: "" }],
    pending: { ...NOTHING_PENDING, approvals: [REQUEST] },
    snapshot: { items: NEWEST_FIRST, more: true, plan: { explanation: "", items: [] } },
    draft: { text: "half", attachments: [] },
    ...more,
  });
  assert.ok(result.snapshot);
  const s = restoreSnapshot(result.snapshot, result);
  assert.equal(applySubscription(s, result), "applied");
  return s;
}

test("a long session opens with its newest items, oldest first, and its pending requests", () => {
  const s = opened();
  assert.deepEqual(s.items.map(({ kind, id }) => `${kind} ${id}`), ["user i15", "steer st1", "tool c1", "file i18", "text p2", "approval a1"]);
  assert.deepEqual([s.lastSeq, s.first, s.more, s.oldestSeq, s.draft?.text], [20, 0, true, 14, "half"]);
  assert.deepEqual(pendingApprovals(s).map(({ id }) => id), ["a1"]);
  assert.equal(s.terminals.get("term1")?.running, true);
});

test("an event held until the end of the turn is part of the subscription, not of later events", () => {
  const queue = [{ queuedId: "q1", text: "And then", images: 0 }];
  assert.deepEqual(opened({ session: sessionInfo("s1", { queue }) }).queue, queue);
});

test("open parts continue at their offsets", () => {
  const s = opened();
  const text = s.partItem.get("p2");
  assert.equal(text?.part.text, "Now I see");
  assert.equal(applyEvent(s, delta("assistant_text_delta", "p2", 9, " it", 20)), "applied");
  assert.equal(applyEvent(s, recorded(21, "assistant_text_end", { partId: "p2", text: "Now I see it", interrupted: false })), "applied");
  assert.deepEqual([text.part.text, text.part.open], ["Now I see it", false]);
  assert.equal(applyEvent(s, recorded(22, "steering_injected", { steerId: "st1", text: "faster" })), "applied");
  assert.equal(s.steers.get("st1")?.status, "injected");
  assert.equal(s.items.length, 6);
});

test("a turn that was open has its file summary when it ends", () => {
  const s = opened();
  applyEvent(s, { ...recorded(21, "file_change", { ...FILE, callId: "c3", diff: "", hunks: [] }), turnId: "t1" });
  applyEvent(s, { ...recorded(22, "processing_end", { reason: "completed" }), turnId: "t1" });
  const last = s.items.at(-1);
  assert.deepEqual(last?.kind === "end" && last.files, [{ ...FILE, added: 4, removed: 2 }]);
});

test("older pages are inserted before existing items, which do not move", () => {
  const s = opened();
  const before = s.items.map(({ id, index }) => `${id} ${index}`);
  const older = [stored(12, "text", { partId: "p0", text: "Done.", interrupted: false }, "t0"), stored(11, "user", { text: "first" }, "t0")];
  prependHistory(s, { items: older, more: false });
  assert.deepEqual(s.items.slice(2).map(({ id, index }) => `${id} ${index}`), before);
  assert.deepEqual(s.items.slice(0, 2).map(({ id, index }) => `${id} ${index}`), ["i11 -2", "p0 -1"]);
  assert.deepEqual([s.first, s.more, s.oldestSeq], [-2, false, 11]);
  applyEvent(s, recorded(21, "user_input", { text: "new" }));
  assert.deepEqual([s.items.at(-1)?.index, s.touched.has(6)], [6, true]);
  const page = new Feed({ relative: (path) => path }).takeEarlierPage(s, 0);
  assert.deepEqual(page.type === "earlier" && [page.items.map(({ id }) => id), page.first, page.more], [["i11", "p0"], -2, false]);
});

test("the end of a turn has an outcome when its hunks are decided", () => {
  const s = newSnapshot();
  const end = () => {
    const reset = new Feed({ relative: (path) => path }).takeNewestPage(s);
    return (reset.type === "reset" ? reset.items : []).find((item): item is EndView => item.kind === "end");
  };
  for (const event of sessionEvents.filter(({ kind }) => kind !== "hunk_state")) applyEvent(s, { ...event, ...(event.seq !== undefined && { seq: s.lastSeq + 1 }) });
  assert.deepEqual([end()?.outcome, end()?.isRedundant, end()?.text, end()?.files.length], ["", true, "", 1]);
  const kept = sessionEvents.find(({ kind }) => kind === "hunk_state");
  assert.ok(kept);
  s.touched.clear();
  applyEvent(s, { ...kept, seq: s.lastSeq + 1 });
  assert.ok([...s.touched].some((index) => s.items[index]?.kind === "end"), "the card is drawn anew");
  assert.notEqual(end()?.outcome, "");
});
