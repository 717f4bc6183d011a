// req: H7, H9
import assert from "node:assert/strict";
import { test } from "node:test";
import { decisiveLines as linesOf } from "../../webview/diff";

const decisiveLines = (lines: readonly string[]) => linesOf(lines.join("\n"));

const INDENT = " ".repeat(12);
const DIFF = [
  "@@ -1,6 +1,6 @@", ` ${INDENT}# one`, ` ${INDENT}# two`, ` ${INDENT}# three`,
  `-${INDENT}if request.http_version < b"1.1":`, `+${INDENT}if request.http_version == b"1.0":`,
  ` ${INDENT}    return`, ` ${INDENT}last`, "@@ -90 +90 @@", `-${INDENT}x = 1`,
];

test("a diff to decide about has one line of context, no shared indent, and folds for the rest", () => {
  const lines = decisiveLines(DIFF);
  assert.deepEqual(lines.map(({ sign, text }) => sign + text), [
    " # three", '-if request.http_version < b"1.1":', '+if request.http_version == b"1.0":', "     return", "@", "-x = 1",
  ]);
});

test("what differs between a line and the line that replaces it is marked by words", () => {
  const parts = (...lines: string[]) => decisiveLines(lines).map(({ text, from, to }) => text.slice(from, to));
  assert.deepEqual(parts("-if version < 1.1:", "+if version == 1.0:"), ["< 1.1", "== 1.0"]);
  assert.deepEqual(parts("-call(old_name)", "+call(new_name)"), ["old_name", "new_name"]);
  assert.deepEqual(parts("-a = 1", "+a = 1  # why"), ["", "  # why"]);
  assert.deepEqual(parts("-one", "+two"), ["", ""], "nothing in common");
  assert.deepEqual(parts("-one", "+one more", "+lines"), ["", "", ""], "not a replacement line by line");
  assert.deepEqual(parts("-same", "+same"), ["", ""]);
  const long = "a".repeat(120);
  assert.deepEqual(parts(`-key = "${long}1"`, `+key = "${long}2"`), ["1", "2"], "only the characters of a very long word");
});

test("tabs and spaces are shared only as far as all lines begin with the same", () => {
  const shown = (...lines: string[]) => decisiveLines(lines).map(({ text }) => text);
  assert.deepEqual(shown("-\t\ta", "+\t  b"), ["\ta", "  b"]);
  assert.deepEqual(shown("-  a\r", "+", "+  b"), ["a", "", "b"]);
});
