// req: H6, H9
import assert from "node:assert/strict";
import { test } from "node:test";
import { listHunks } from "../../review/model";
import { type LineChange, type TextChange, lineChange, moveHunks, moveRange, placeHunks } from "../../review/moving";
import { hunk, hunksOf } from "../support/hunks";

/** A text change: `text` replaces the text between the two positions. */
function typed(line: number, character: number, text: string, endLine = line, endCharacter = character): TextChange {
  return { range: { start: { line, character }, end: { line: endLine, character: endCharacter } }, text };
}

function after(lines: readonly string[]): (line: number) => number {
  return (line) => lines[line]?.length ?? 0;
}

const LINES = ["def a():", "    one", "    two", "    three", "end"];
const MOVES: readonly (readonly [string, TextChange, readonly string[], readonly [number, number]])[] = [
  ["two lines above", typed(0, 0, "x\ny\n"), ["x", "y", ...LINES], [4, 6]],
  ["a letter above", typed(0, 3, "x"), ["defx a():", ...LINES.slice(1)], [2, 4]],
  ["Enter at the end of the line above", typed(1, 7, "\n    "), [...LINES.slice(0, 2), "    ", ...LINES.slice(2)], [3, 5]],
  ["Enter at the start of its first line", typed(2, 0, "\n"), [...LINES.slice(0, 2), "", ...LINES.slice(2)], [3, 5]],
  ["a line within", typed(3, 0, "    new\n"), [...LINES.slice(0, 3), "    new", ...LINES.slice(3)], [2, 5]],
  ["Enter at the end of its last line", typed(3, 9, "\n    "), [...LINES.slice(0, 4), "    ", "end"], [2, 4]],
  ["a line below", typed(4, 0, "new\n"), [...LINES.slice(0, 4), "new", "end"], [2, 4]],
  ["the line above deleted", typed(1, 0, "", 2, 0), [LINES[0] ?? "", ...LINES.slice(2)], [1, 3]],
  ["one of its lines deleted", typed(2, 0, "", 3, 0), [...LINES.slice(0, 2), ...LINES.slice(3)], [2, 3]],
  ["deleted with lines on both sides", typed(1, 0, "", 4, 0), ["def a():", "end"], [1, 1]],
  ["the whole text replaced", typed(0, 0, "short", 4, 3), ["short"], [1, 1]],
];
for (const [what, change, lines, expected] of MOVES) {
  test(`a hunk moves with its lines: ${what}`, () => {
    const hunks = hunksOf(hunk("h", 2, 4));
    moveHunks(hunks, "file:///a", [change], after(lines));
    assert.deepEqual(listHunks(hunks).map(({ first, last }) => [first, last]), [expected]);
  });
}

test("lines typed at a removal are below it", () => {
  assert.deepEqual(moveRange([2, 2], { first: 2, last: 2, added: 3 }), [2, 2]);
  assert.deepEqual(moveRange([2, 2], { first: 1, last: 1, added: 3 }), [5, 5]);
});

test("several cursors move a hunk by the lines of all of them", () => {
  const hunks = hunksOf(hunk("h", 4, 5));
  // The order in which VS Code reports changes: from the bottom to the top, with positions before the event.
  assert.ok(moveHunks(hunks, "file:///a", [typed(6, 0, "c\n"), typed(3, 0, "b\n"), typed(0, 0, "a\n")], () => 1));
  assert.deepEqual(listHunks(hunks).map(({ first, last }) => [first, last]), [[6, 7]]);
});

test("a change that moves no hunk returns false, and hunks of other files stay", () => {
  const hunks = hunksOf(hunk("h", 2, 4), hunk("other", 2, 4, { uri: "file:///b" }));
  assert.equal(moveHunks(hunks, "file:///a", [typed(6, 0, "x")], () => 1), false);
  assert.ok(moveHunks(hunks, "file:///a", [typed(0, 0, "x\n")], () => 1));
  assert.deepEqual(listHunks(hunks).map(({ id, first }) => [id, first]), [["h", 3], ["other", 2]]);
});

test("positions from the server are used; decided and unknown hunks are skipped", () => {
  const hunks = hunksOf(hunk("h", 2, 4));
  const hunkAt = (id: string, newRange: readonly [number, number]) => ({ id, newRange }) as never;
  assert.equal(placeHunks(hunks, { uri: "file:///a", hunks: [hunkAt("h", [2, 4])] }), false);
  assert.equal(placeHunks(hunks, { uri: "file:///a", hunks: [hunkAt("h", [7, 9]), hunkAt("unknown", [1, 2])] }), true);
  assert.equal(placeHunks(hunks, { uri: "file:///b", hunks: [hunkAt("h", [1, 2])] }), false);
  assert.deepEqual(listHunks(hunks).map(({ id, first, last }) => [id, first, last]), [["h", 7, 9]]);
});

/** A pseudo-random number generator, which returns the same numbers for the same seed. */
function numbers(seed: number): (below: number) => number {
  let state = seed * 7919 + 1;
  return (below) => {
    state = (state * 48271) % 2147483647;
    return state % below;
  };
}

/** Lines of a text, each with the hunk that it belongs to. Lines inserted inside a hunk belong to it; at its edge not. */
class Marked {
  constructor(public owners: (string | undefined)[]) {}

  replace({ first, last, added }: LineChange): void {
    const isWithin = this.owners[first - 1] === this.owners[last] ? this.owners[last] : undefined;
    this.owners.splice(first, last - first, ...Array.from({ length: added }, () => isWithin));
  }

  rangeOf(id: string): readonly number[] {
    return this.owners.flatMap((owner, line) => (owner === id ? [line] : []));
  }
}

for (let seed = 1; seed <= 200; seed += 1) {
  test(`lines typed and deleted at random leave each hunk at its lines (${seed})`, () => {
    const below = numbers(seed);
    const text = new Marked(Array.from({ length: 40 }, (_, line) => (line >= 5 && line < 8 ? "a" : line >= 15 && line < 16 ? "b" : line >= 25 && line < 32 ? "c" : undefined)));
    const hunks = hunksOf(hunk("a", 5, 8), hunk("b", 15, 16), hunk("c", 25, 32));
    for (let step = 0; step < 30; step += 1) {
      const first = below(text.owners.length + 1);
      const isDeletion = below(3) === 0;
      const last = isDeletion ? Math.min(first + below(4), text.owners.length) : first;
      const added = isDeletion ? 0 : 1 + below(3);
      moveHunks(hunks, "file:///a", [typed(first, 0, "x\n".repeat(added), last, 0)], () => 1);
      text.replace({ first, last, added });
      for (const { id, first: start, last: end } of listHunks(hunks)) {
        const lines = Array.from({ length: end - start }, (_, i) => start + i);
        assert.deepEqual(lines, text.rangeOf(id), `${id} after step ${step}`);
      }
    }
  });
}

test("a text change of whole lines is reported in whole lines", () => {
  assert.deepEqual(lineChange(typed(3, 0, "a\r\nb\r\n"), () => 1), { first: 3, last: 3, added: 2 });
  assert.deepEqual(lineChange(typed(3, 2, "x"), () => 9), { first: 3, last: 4, added: 1 });
  assert.deepEqual(lineChange(typed(3, 2, "\n"), () => 0), { first: 4, last: 4, added: 1 });
  assert.deepEqual(lineChange(typed(3, 2, "\n"), () => 7), { first: 3, last: 4, added: 2 });
});
