// req: H9, H17
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Snapshot } from "../../snapshot/items";
import { applyEvent, newSnapshot } from "../../snapshot/snapshot";
import { formatMoney } from "../../snapshot/money";
import { formatTokens, statusLine } from "../../status/status_words";
import { sessionInfo } from "../support/fake_connection";
import { recorded, tokens } from "../support/golden";

const NOTHING = { files: 0, proposals: 0 };

function shown(more: Parameters<typeof sessionInfo>[1] = {}): Snapshot {
  const s = newSnapshot();
  s.session = sessionInfo("s1", { model: "large", isWalkthrough: false, ...more });
  return s;
}

test("without a session the status bar has only the name", () => {
  const line = statusLine(newSnapshot(), NOTHING, false);
  assert.deepEqual([line.text, line.label, line.isUrgent], ["$(comment-discussion) agent-ls", "agent-ls is idle", false]);
});

test("activity, pending requests, model and cost are in this order", () => {
  const s = shown();
  applyEvent(s, recorded(1, "state", { state: "PROCESSING" }));
  applyEvent(s, recorded(2, "usage", { total: tokens(1200, 30), contextTokens: 600, contextWindowTokens: 1000, totalCostUsd: 0.234 }));
  const line = statusLine(s, { files: 2, proposals: 0 }, false);
  assert.equal(line.text, "$(sync~spin) agent-ls: working · 2 files to review · large · $0.23");
  assert.deepEqual(line.details, ["large · ask", "In w", "Context: 60 % of 1k tokens", "Used: 1.2k in (0 from the cache), 30 out", "Cost: $0.23"]);
});

test("pending requests are urgent", () => {
  const s = shown();
  for (const seq of [1, 2]) applyEvent(s, recorded(seq, "approval_requested", { requestId: `a${seq}`, summary: "", rules: [] }));
  assert.deepEqual([statusLine(s, NOTHING, false).text, statusLine(s, NOTHING, false).isUrgent], ["$(bell-dot) agent-ls: asks you (2) · large", true]);
  const proposing = statusLine(shown(), { files: 1, proposals: 1 }, false);
  assert.deepEqual([proposing.text, proposing.isUrgent], ["$(bell-dot) agent-ls: proposes 1 change · 1 file to review · large", true]);
});

test("a session of another window and a stopped server are displayed", () => {
  const s = shown({ access: "readOnly" });
  assert.match(statusLine(s, NOTHING, false).text, /read only/);
  assert.match(statusLine(s, NOTHING, false).details.join(), /Another window owns this session/);
  assert.deepEqual([statusLine(s, NOTHING, true).text, statusLine(s, NOTHING, true).isUrgent], ["$(warning) agent-ls: server stopped · large", true]);
});

test("money and tokens are abbreviated", () => {
  assert.deepEqual([0, 0.004, 0.5, 12.345].map(formatMoney), ["$0.00", "<$0.01", "$0.50", "$12.35"]);
  assert.deepEqual([999, 1_250, 128_000, 1_000_000].map(formatTokens), ["999", "1.3k", "128k", "1M"]);
});
