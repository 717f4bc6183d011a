// req: H12, H9
import assert from "node:assert/strict";
import { test } from "node:test";
import { commandInput, linesOf, formatProblem } from "../../context/asking";
import { PUBLISH_QUIET_MS, SILENCE_MS, SentReports, settlesAtMs } from "../../context/diagnostics_model";

const range = (startLine: number, endLine: number, endCharacter: number) => ({ start: { line: startLine, character: 4 }, end: { line: endLine, character: endCharacter } });

test("whole lines are reported; a selection that ends before a line excludes it, a cursor is its line", () => {
  assert.deepEqual(linesOf(range(2, 4, 3)), { startLine: 2, endLine: 5 });
  assert.deepEqual(linesOf(range(2, 4, 0)), { startLine: 2, endLine: 4 });
  assert.deepEqual(linesOf({ start: { line: 2, character: 0 }, end: { line: 2, character: 0 } }), { startLine: 2, endLine: 3 });
});

test("a problem is reported with its line and its source", () => {
  const at = { start: { line: 9, character: 0 } };
  assert.equal(formatProblem({ message: " x is not defined ", source: "pyflakes", range: at }), "line 10: x is not defined (pyflakes)");
  assert.deepEqual(commandInput("fix", ["line 1: a", "line 2: b"]), [{ type: "command", name: "fix", arguments: "line 1: a\nline 2: b" }]);
  assert.deepEqual(commandInput("explain", []), [{ type: "command", name: "explain" }]);
});

test("diagnostics are settled shortly after the last report about the new text", () => {
  assert.equal(settlesAtMs({ changedMs: 100, publishedMs: 400 }), 400 + PUBLISH_QUIET_MS);
  assert.equal(settlesAtMs({ publishedMs: 400 }), 400 + PUBLISH_QUIET_MS);
});

test("without reports about a new text, the known diagnostics count as current after a while", () => {
  assert.equal(settlesAtMs({ changedMs: 500, publishedMs: 400 }), 500 + SILENCE_MS);
  assert.equal(settlesAtMs({ changedMs: 500 }), 500 + SILENCE_MS);
});

test("a report is sent once, and again when it differs or the server is new", () => {
  const sent = new SentReports();
  const report = { version: 1, settled: true, items: [] };
  assert.deepEqual([sent.isNew("a", report), sent.isNew("a", { ...report }), sent.isNew("b", report), sent.isNew("a", { ...report, version: 2 })], [true, false, true, true]);
  sent.clear();
  assert.equal(sent.isNew("a", { ...report, version: 2 }), true);
});
