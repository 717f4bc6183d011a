// req: H9
import assert from "node:assert/strict";
import { test } from "node:test";
import type { BlameResult } from "../../connection/protocol";
import { agentLines, describeLine, withoutLinks } from "../../review/blame_words";

const ORIGIN = { sessionId: "s", turnId: "t", callId: "c", message: "round the sum", model: "anthropic/x", time: "2026-01-02T03:04:05.678Z", decision: "kept" } as const;
const RESULT: BlameResult = {
  ranges: [{ range: [0, 2], author: "user" }, { range: [2, 4], author: "agent", origin: 0 }, { range: [4, 5], author: "unknown" }],
  origins: [ORIGIN],
};

process.env["TZ"] = "Asia/Kolkata";

test("a line of the agent names model, message, time and decision", () => {
  assert.deepEqual(describeLine(RESULT, 3), ["Written by the agent", "for: round the sum", "2026-01-02 08:34, kept", "anthropic/x"]);
});

test("other lines say what is known", () => {
  assert.match(describeLine(RESULT, 1)?.[0] ?? "", /you/);
  assert.match(describeLine(RESULT, 4)?.[0] ?? "", /not known/);
  assert.equal(describeLine(RESULT, 5), undefined);
});

test("a call whose message and model are not known has no empty rows", () => {
  const result = { ...RESULT, origins: [{ ...ORIGIN, message: "", model: "", decision: "" } as const] };
  assert.deepEqual(describeLine(result, 2), ["Written by the agent", "2026-01-02 08:34"]);
});

test("a message with a link to a command is shown as text", () => {
  assert.equal(withoutLinks("fix [this](command:x)[y](z)"), "fix [this] (command:x)[y] (z)");
});

test("bars are at the lines of the agent only", () => {
  assert.deepEqual(agentLines(RESULT), [[2, 4]]);
});
