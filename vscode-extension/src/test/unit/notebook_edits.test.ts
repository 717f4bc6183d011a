// req: H15
import assert from "node:assert/strict";
import { test } from "node:test";
import { findChangedPart, isApplicable } from "../../context/notebook_edits";
import type { ClientRequests } from "../../connection/protocol";

const CHANGE: ClientRequests["editNotebook"]["params"] = {
  uri: "file:///a.ipynb",
  cellCount: 3,
  texts: [{ index: 0, uri: "vscode-notebook-cell:/a.ipynb#W0", was: "a\nb", text: "c" }],
  splices: [{ start: 2, was: ["last"], cells: [] }],
};

for (const [cells, expected, why] of [
  [["a\nb", "x", "last"], true, "all is as it was"],
  [["a\r\nb", "x", "last"], true, "line endings are the editor's own"],
  [["a\nb", "typed", "last"], true, "a cell that is not touched"],
  [["a\nb!", "x", "last"], false, "the cell that is to change has changed"],
  [["a\nb", "x", "last!"], false, "the cell that is to go has changed"],
  [["a\nb", "x", "last", "new"], false, "there is one more"],
  [["a\nb", "last"], false, "there is one less"],
] as const) {
  test(`a change of a notebook ${expected ? "fits" : "does not fit"}: ${why}`, () => {
    assert.equal(isApplicable(cells, CHANGE), expected);
  });
}

for (const [old, wanted] of [
  ["x = 1\nprint(x)", "x = 2\nprint(x)"], ["", "all new"], ["all gone", ""], ["same", "same"], ["aaa", "aa"], ["ab", "aab"],
  ["x\r\ny\r\n", "x\nz\ny\n"], ["😀", "😁"], ["a😀b", "a😀😀b"], ["🐀", "😀"],
] as const) {
  test(`only what differs between ${JSON.stringify(old)} and ${JSON.stringify(wanted)} is replaced`, () => {
    const { start, end, text } = findChangedPart(old, wanted);
    const made = old.slice(0, start) + text + old.slice(end);
    assert.equal(made.replace(/\r\n/g, "\n"), wanted);
    for (const at of [start, end]) assert.doesNotMatch(old.slice(Math.max(0, at - 1), at + 1), /^[\ud800-\udbff][\udc00-\udfff]$/);
  });
}

test("text around a change is not edited", () => {
  assert.deepEqual(findChangedPart("x = 1\nprint(x)", "x = 22\nprint(x)"), { start: 4, end: 5, text: "22" });
});
