// req: H6, H9
import assert from "node:assert/strict";
import { test } from "node:test";
import { baseText, fileOfSide, locateProposals, proposedText, serverParts, sideOf, sideParts } from "../../review/texts";
import { hunk } from "../support/hunks";

const NOW = "one\nTWO\nTWO B\nthree\nfour\n";

test("the accepted text reverts each change of the agent, at any position", () => {
  const hunks = [
    hunk("a", 1, 3, { oldLines: ["two"], newLines: ["TWO", "TWO B"] }),
    hunk("b", 4, 4, { oldLines: ["removed", "removed too"] }),
    hunk("c", 4, 5, { newLines: ["four"] }),
  ];
  assert.equal(baseText(NOW, hunks), "one\ntwo\nthree\nremoved\nremoved too\n");
});

test("proposals are not in the accepted text, and hunks without a position are skipped", () => {
  const hunks = [
    hunk("p", 0, 1, { state: "proposed", oldLines: ["one"], newLines: ["ONE"] }),
    hunk("s", 1, 2, { state: "stale", oldLines: ["x"], newLines: ["y"] }),
  ];
  assert.equal(baseText(NOW, hunks), NOW);
});

test("the proposed text contains the proposals and keeps the file's line ends", () => {
  const hunks = [hunk("p", 0, 1, { state: "proposed", oldLines: ["one"], newLines: ["ONE", "AND A HALF"] }), hunk("k", 1, 2)];
  assert.equal(proposedText("one\r\ntwo\r\n", hunks), "ONE\r\nAND A HALF\r\ntwo\r\n");
});

test("a created file had no text, a deleted one has its old text", () => {
  assert.equal(baseText("a\nb\n", [hunk("n", 0, 2, { what: "create", newLines: ["a", "b"] })]), "");
  assert.equal(baseText("", [hunk("d", 0, 0, { what: "delete", oldLines: ["a", "b"] })]), "a\nb\n");
});

test("proposals are shifted in the proposed text by those above", () => {
  const hunks = [
    hunk("late", 4, 5, { state: "proposed", newLines: [] }),
    hunk("early", 1, 2, { state: "proposed", newLines: ["x", "y", "z"] }),
    hunk("other", 0, 1),
  ];
  assert.deepEqual(locateProposals(hunks).map(({ hunk: { id }, first, last }) => [id, first, last]), [["early", 1, 4], ["late", 6, 6]]);
});

test("each side has the file's path and its name, and other documents have none", () => {
  const parts = sideParts("base", "file:///w/a%20b.py", "/w/a b.py");
  assert.deepEqual(parts, { scheme: "agent-ls-base", path: "/w/a b.py", query: "file:///w/a%20b.py" });
  assert.deepEqual([fileOfSide(parts), sideOf(parts)], ["file:///w/a%20b.py", "base"]);
  assert.deepEqual(serverParts(parts), { scheme: "agent-ls", path: "/base/w/a b.py", query: "file:///w/a%20b.py" });
  assert.equal(fileOfSide({ ...parts, scheme: "file" }), undefined);
});
