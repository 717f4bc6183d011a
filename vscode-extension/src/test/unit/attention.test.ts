// req: H17
import assert from "node:assert/strict";
import { test } from "node:test";
import { Attention, type Notify, shouldNotify, parseNotify, countPending } from "../../status/attention";
import { applyEvent, newSnapshot } from "../../snapshot/snapshot";
import { recorded } from "../support/golden";

const SEEN = { hasFocus: true, isChatVisible: true };
const HIDDEN = { hasFocus: true, isChatVisible: false };
const AWAY = { hasFocus: false, isChatVisible: true };
const GONE = { hasFocus: false, isChatVisible: false };

for (const [how, expected] of Object.entries({
  off: [false, false, false, false], away: [false, false, true, true], unseen: [false, true, true, true], system: [false, true, true, true],
})) {
  test(`with ${how} a notification is shown if the setting asks for it, and never while the user looks at the chat`, () => {
    assert.deepEqual([SEEN, HIDDEN, AWAY, GONE].map((sight) => shouldNotify(how as Notify, sight)), expected);
  });
}

test("an old boolean setting is accepted, and an invalid value is the default", () => {
  assert.deepEqual([true, false, "away", "loud", undefined].map(parseNotify), ["unseen", "off", "away", "unseen", "unseen"]);
});

test("the badge counts pending requests and disappears with the answers", () => {
  const s = newSnapshot();
  const attention = new Attention();
  assert.equal(attention.badge(countPending(s, 0)), undefined);
  applyEvent(s, recorded(1, "approval_requested", { requestId: "a", summary: "", rules: [] }));
  applyEvent(s, recorded(2, "question_asked", { questionId: "q", question: "Which?", choices: [], multiple: false }));
  assert.deepEqual(attention.badge(countPending(s, 3)), { value: 3, tooltip: "agent-ls waits for 3 answers from you" });
  applyEvent(s, recorded(3, "approval_resolved", { requestId: "a", decision: "deny", scope: "once", decidedBy: "c", reason: "" }));
  applyEvent(s, recorded(4, "question_answered", { questionId: "q", answers: [], declined: true }));
  assert.equal(attention.badge(countPending(s, 0)), undefined);
});

test("a turn that ended unseen has a badge until the user looks", () => {
  const attention = new Attention();
  attention.applyEvent({ kind: "processing_end" }, SEEN);
  assert.equal(attention.badge(0), undefined);
  attention.applyEvent({ kind: "processing_end" }, AWAY);
  assert.equal(attention.badge(0)?.tooltip, "agent-ls is done");
  attention.updateSight(HIDDEN);
  assert.equal(attention.badge(0)?.value, 1, "the window alone is not the chat");
  attention.updateSight(SEEN);
  assert.equal(attention.badge(0), undefined);
  attention.applyEvent({ kind: "processing_end" }, GONE);
  attention.applyEvent({ kind: "user_input" }, HIDDEN);
  assert.equal(attention.badge(0), undefined);
});
