// req: H6, H9
import assert from "node:assert/strict";
import { test } from "node:test";
import type { GuidedRow } from "../../review/guide";
import { describeRow, iconOf, spellRow, titleOf } from "../../review/guide_words";
import { hunkOfInfo } from "../../review/model";
import { childNodes, contextOf, hunksOf as within, newestTurn, nodeId, rowNodes } from "../../review/tree_model";
import { hunk, hunksOf } from "../support/hunks";

function row(ids: string[], more: Partial<GuidedRow["row"]> = {}): GuidedRow {
  const kind = ids.length > 1 ? "renames" : "change";
  return { row: { kind, title: "Round the sum", hunkIds: ids, state: "notLooked", marks: [], unknown: [], ...more }, hunks: ids.map((id) => hunk(id, 11, 12, { uri: "file:///w/cart.py" })) };
}

const OPEN = hunksOf(hunk("a1", 1, 2), hunk("a2", 5, 6), hunk("p1", 8, 9, { state: "proposed" }));

test("a row has its reason, place and marks; a screen reader also gets the state", () => {
  const marked = row(["a1"], { marks: [{ kind: "untested", text: "no test names `total`" }] });
  assert.equal(titleOf(marked), "Round the sum");
  assert.equal(describeRow(marked), "cart.py:12 · no test names `total`");
  assert.equal(spellRow(marked), "Round the sum, not looked at, cart.py:12 · no test names `total`");
});

test("a group says how many places it has, and a row without a reason has a title", () => {
  assert.equal(describeRow(row(["a1", "a2"])), "2 places");
  assert.equal(titleOf(row(["a1"], { title: "" })), "A change");
});

test("each state has its icon", () => {
  const icons = (["notLooked", "looked", "kept", "undone"] as const).map((state) => iconOf(row(["a1"], { state })));
  assert.equal(new Set(icons).size, 4);
});

test("a row decides its undecided hunks; a decided row offers nothing", () => {
  const [group, one, done, proposed] = rowNodes([row(["a1", "a2", "gone"]), row(["a1"]), row(["gone"]), row(["p1"])], OPEN);
  assert.ok(group && one && done && proposed);
  assert.deepEqual(within(group).map(({ id }) => id), ["a1", "a2"]);
  assert.deepEqual(childNodes(group).map(nodeId), ["hunk:a1", "hunk:a2"]);
  assert.deepEqual(childNodes(one), []);
  assert.deepEqual([group, one, done, proposed].map(contextOf), ["row", "row", "row.done", "row.proposed"]);
});

test("the newest turn is the last one that still has changes", () => {
  const hunks = hunksOf(hunk("a1", 1, 2, { turnId: "t1" }), hunk("a2", 5, 6, { turnId: "t2" }));
  assert.equal(newestTurn(["t1", "t2", "t3"], hunks), "t2");
  assert.equal(newestTurn(["t3"], hunks), undefined);
});

test("what the user has looked at is read from results", () => {
  const info = { id: "h", sessionId: "s", turnId: "t", callId: "c", what: "content", state: "pending", oldRange: [0, 1], newRange: [0, 1], oldLines: [], newLines: [] } as const;
  assert.equal(hunkOfInfo({ ...info, looked: true }, "file:///a").looked, true);
  assert.equal("looked" in hunkOfInfo(info, "file:///a"), false);
});
