// req: H6, H9
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Node, childNodes, contextOf, hunksOf as within, nodeId, rootNodes, formatSummary } from "../../review/tree_model";
import { formatCount, firstChangedLine, describeHunk, formatSize, verdictLabels } from "../../review/words";
import { hunk, hunksOf } from "../support/hunks";

const HUNKS = hunksOf(
  hunk("a1", 1, 2, { turnId: "t1", newLines: ["x"] }),
  hunk("a2", 5, 6, { turnId: "t2", newLines: ["y", "z"], oldLines: ["w"] }),
  hunk("b1", 0, 1, { turnId: "t2", uri: "file:///b", state: "proposed", newLines: ["q"] }),
);

const shape = (node: Node): unknown => (node.kind === "hunk" ? node.hunk.id : { [nodeId(node)]: childNodes(node).map(shape) });

test("by file: each file with its hunks from top to bottom", () => {
  assert.deepEqual(rootNodes(HUNKS, "file", []).map(shape), [{ "file::file:///a": ["a1", "a2"] }, { "file::file:///b": ["b1"] }]);
});

test("by turn: the newest first, each with its files and their hunks", () => {
  assert.deepEqual(rootNodes(HUNKS, "turn", ["t1", "t2"]).map(shape), [
    { "turn:t2": [{ "file:t2:file:///a": ["a2"] }, { "file:t2:file:///b": ["b1"] }] },
    { "turn:t1": [{ "file:t1:file:///a": ["a1"] }] },
  ]);
});

test("a node decides about all hunks below it, and offers accept if all are proposals", () => {
  const [newest] = rootNodes(HUNKS, "turn", ["t1", "t2"]);
  assert.ok(newest);
  assert.deepEqual(within(newest).map(({ id }) => id), ["a2", "b1"]);
  assert.deepEqual([contextOf(newest), ...childNodes(newest).map(contextOf)], ["turn", "file", "file.proposed"]);
});

test("a moved file is one node with both of its names, and is decided as a whole", () => {
  const moved = hunksOf(
    hunk("gone", 0, 0, { uri: "file:///old", what: "delete", link: "m", oldLines: ["x"] }),
    hunk("made", 0, 1, { uri: "file:///new", what: "create", link: "m", newLines: ["x"] }),
    hunk("other", 0, 1, { uri: "file:///other", what: "create", newLines: ["x"] }),
  );
  const [node, other, ...more] = rootNodes(moved, "file", []);
  assert.ok(node?.kind === "file" && other?.kind === "file");
  assert.deepEqual(more, []);
  assert.deepEqual([node.uri, node.movedFrom, other.movedFrom], ["file:///new", "file:///old", undefined]);
  assert.deepEqual(within(node).map(({ id }) => id), ["made", "gone"]);
  assert.deepEqual(childNodes(node), []);
});

test("the node of a moved and changed file contains the changes of both names", () => {
  const moved = hunksOf(
    hunk("gone", 0, 0, { uri: "file:///old", what: "delete", link: "m", oldLines: ["x"] }),
    hunk("made", 0, 1, { uri: "file:///new", what: "create", link: "m", newLines: ["y"] }),
  );
  assert.deepEqual(rootNodes(moved, "file", []).map(shape), [{ "file::file:///new": ["made", "gone"] }]);
});

test("the ends of two moves of one file by different calls are not joined", () => {
  const moved = hunksOf(
    hunk("b", 0, 1, { uri: "file:///b", what: "create", link: "move:a", callId: "1", newLines: ["x"] }),
    hunk("gone", 0, 0, { uri: "file:///a", what: "delete", link: "move:a", callId: "3", oldLines: ["y"] }),
    hunk("c", 0, 1, { uri: "file:///c", what: "create", link: "move:a", callId: "3", newLines: ["y"] }),
  );
  const nodes = rootNodes(moved, "file", []);
  assert.deepEqual(nodes.map((node) => node.kind === "file" && [node.uri, node.movedFrom]), [["file:///b", undefined], ["file:///c", "file:///a"]]);
});

test("the summary of all changes is one line", () => {
  assert.equal(formatSummary(HUNKS), "+4 −1 in 2 files");
  assert.equal(formatSummary(hunksOf()), "");
});

test("a hunk is named by its first non-empty line", () => {
  assert.equal(firstChangedLine(hunk("h", 0, 2, { newLines: ["  {", "    call(it)"] })), "call(it)");
  assert.equal(firstChangedLine(hunk("h", 0, 0, { oldLines: ["", "  gone = 1"] })), "− gone = 1");
  assert.equal(firstChangedLine(hunk("h", 0, 1, { newLines: ["x".repeat(200)] })).length, 80);
  assert.equal(firstChangedLine(hunk("h", 0, 1, { newLines: [""] })), "(blank line)");
});

test("the special state of a hunk is before its size", () => {
  assert.equal(describeHunk(hunk("h", 0, 1, { state: "edited", newLines: ["a"], oldLines: ["b"] })), "with your edits · +1 −1");
  assert.equal(describeHunk(hunk("h", 0, 1, { what: "create", newLines: ["a"] })), "new file · +1");
  assert.equal(formatSize([hunk("h", 0, 0)]), "no lines");
  assert.deepEqual([formatCount(1, "file"), formatCount(2, "file")], ["1 file", "2 files"]);
});

test("a proposal is accepted or rejected, an applied change kept or undone", () => {
  assert.deepEqual(verdictLabels(hunk("h", 0, 1, { state: "proposed" })), { keep: "Accept", undo: "Reject" });
  assert.deepEqual(verdictLabels(hunk("h", 0, 1)), { keep: "Keep", undo: "Undo" });
});
