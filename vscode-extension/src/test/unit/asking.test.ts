// req: H20
// Messages of ask in place, and messages about terminals and failed tests.
import assert from "node:assert/strict";
import { test } from "node:test";
import { askInput, formatLocation, triggerAt } from "../../asking/words";
import { type SymbolRange, plainOutput, symbolAt, cutToTail, formatTerminalCommand, formatTerminalText, formatTestFailure } from "../../context/asking";

const HERE = { type: "selection", uri: "file:///w/a.py", startLine: 2, endLine: 4, text: "x\n" } as const;
const FILE = { type: "file", uri: "file:///w/b.py" } as const;

test("completion begins after @, and after / at the beginning of the text only", () => {
  assert.deepEqual(triggerAt("see @sho"), { trigger: "@", query: "sho" });
  assert.deepEqual(triggerAt("see\n@"), { trigger: "@", query: "" });
  assert.deepEqual(triggerAt("/exp"), { trigger: "/", query: "exp" });
  for (const text of ["a@b", "see /exp", "see @b.py and", ""]) assert.equal(triggerAt(text), undefined, text);
});

test("a message has the selection, the mentions that are still in the text, and the text", () => {
  const mentions = [{ written: "@b.py", part: FILE }, { written: "@c.py", part: { ...FILE, uri: "file:///w/c.py" } }];
  assert.deepEqual(askInput(" as in @b.py\nplease ", HERE, mentions, []), [HERE, FILE, { type: "text", text: "as in @b.py\nplease" }]);
});

test("a slash command of the server is a command; an unknown one is text", () => {
  const commands = [{ name: "explain", description: "" }];
  assert.deepEqual(askInput("/explain why", HERE, [], commands), [HERE, { type: "command", name: "explain", arguments: "why" }]);
  assert.deepEqual(askInput("/explain", HERE, [], commands), [HERE, { type: "command", name: "explain" }]);
  assert.deepEqual(askInput("/nothing", HERE, [], commands), [HERE, { type: "text", text: "/nothing" }]);
});

test("the symbol at a line is the innermost one of several lines", () => {
  const at = (line: number) => ({ line, character: 0 });
  const symbol = (name: string, from: number, to: number, ...children: readonly SymbolRange[]) => ({ name, range: { start: at(from), end: at(to) }, children });
  const all = [symbol("LIMIT", 0, 0), symbol("Cart", 2, 9, symbol("total", 4, 6, symbol("sum", 5, 5)))];
  assert.deepEqual([0, 2, 5, 8, 11].map((line) => symbolAt(all, line)?.name), [undefined, "Cart", "total", "Cart", undefined]);
});

test("lines in the name of a location count from 1", () => {
  assert.equal(formatLocation("a.py", 2, 4), "a.py:3-4");
  assert.equal(formatLocation("a.py", 2, 3), "a.py:3");
});

test("the output of a terminal is what it displays", () => {
  assert.equal(plainOutput("\u001b]633;C\u0007\u001b[31mred\u001b[0m\r\n10%\r50%\r100%\r\n\u001b[?2004h"), "red\n100%");
});

test("a long output keeps its end, from the start of a line", () => {
  assert.equal(cutToTail("first\nsecond\nthird", 10), "third");
  assert.equal(cutToTail("short", 10), "short");
});

test("a terminal's text is fenced so that no line of it ends the fence", () => {
  assert.equal(formatTerminalText("a\n```\nb\n"), "From a terminal of the user:\n````\na\n```\nb\n````");
  assert.equal(formatTerminalCommand({ line: "make", output: "no rule\r\n", exitCode: 2 }), "Command in a terminal of the user (exit code 2):\n```\n$ make\nno rule\n```");
  assert.match(formatTerminalCommand({ line: "make", output: "" }), /it still runs/);
});

test("a failed test has its name, its message and the compared values", () => {
  assert.equal(formatTestFailure({ label: "adds", message: "\u001b[31mnot equal", expected: "2", actual: "3" }), "Failed test: adds\n```\nnot equal\n```\nExpected:\n```\n2\n```\nActual:\n```\n3\n```");
  assert.equal(formatTestFailure({ label: "adds", message: "" }), "Failed test: adds");
});
