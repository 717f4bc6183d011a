// req: H20
// Messages of ask in place, and messages about terminals and failed tests.
import assert from "node:assert/strict";
import { test } from "node:test";
import { grow, lateLetters, type Region, type TextChange, typedInto } from "../../asking/letters";
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

/** Plays typing at a selection: returns the region, and what the input gets, if the cursor is behind the last change. */
function play(before: string, selected: readonly [number, number], changes: readonly TextChange[], cursor?: number) {
  const [start, end] = selected;
  let text = before, regions: readonly Region[] = [{ start, end, original: before.slice(start, end) }], at = end;
  for (const change of changes) {
    regions = grow(regions, text, change);
    text = text.slice(0, change.offset) + change.added + text.slice(change.offset + change.removed);
    at = change.offset + change.added.length;
  }
  const [region] = regions;
  assert.ok(region);
  const restored = text.slice(0, region.start) + region.original + text.slice(region.end);
  return { typed: typedInto(region, text, cursor ?? at), restored };
}

const put = (offset: number, added: string, removed = 0): TextChange => ({ offset, removed, added });

for (const [name, before, selected, changes, cursor, typed] of [
  ["letters replace the selected text", "a = old;", [4, 7], [put(4, "N", 3), put(5, "o")], undefined, "No"],
  ["a bracket closes unasked behind the cursor", "x\n", [2, 2], [put(2, "f"), put(3, "()"), put(4, "x")], 5, "f(x"],
  ["a closing bracket is typed over", "x\n", [2, 2], [put(2, "f"), put(3, "()"), put(4, "x"), put(5, ")", 1)], undefined, "f(x)"],
  ["a quote surrounds the selected text", "a = old;", [4, 7], [put(7, "\""), put(4, "\"")], undefined, "\""],
  ["Backspace reaches the code before the cursor", "word", [4, 4], [put(3, "", 1), put(3, "x")], undefined, "x"],
  ["Enter indents the next line", "if x:", [5, 5], [put(5, "a"), put(6, "\n    "), put(11, "b")], undefined, "a b"],
  ["another edit before the cursor moves it", "abc def", [7, 7], [put(7, "x"), put(0, "12", 1), put(9, "y")], undefined, "xy"],
] as const) {
  test(`typed letters are found, and the text without them: ${name}`, () => {
    const found = play(before, selected, changes, cursor);
    assert.deepEqual(found, { typed, restored: name.startsWith("another") ? "12bc def" : before });
  });
}

test("letters of an input that was replaced are those behind the ones already seen; a selected draft is replaced", () => {
  assert.equal(lateLetters("ab", "abc d", ""), "c d");
  assert.equal(lateLetters("ab", "ab", ""), "");
  assert.equal(lateLetters("ab", "a", ""), "");
  assert.equal(lateLetters("draft", "d", "draft"), "d");
});
