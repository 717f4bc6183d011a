// req: H6, H9
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EventHunk } from "../../connection/protocol";
import type { FileItem } from "../../snapshot/items";
import { inlineTextsOf } from "../../review/other_text";
import { applyEvent, newSnapshot } from "../../snapshot/snapshot";
import { recorded } from "../support/golden";
import { hunk } from "../support/hunks";

const asideLines = (...args: Parameters<typeof hunk>) => inlineTextsOf(hunk(...args)).map(({ line, text }) => `${line} ${text}`);

test("replaced lines are displayed line by line", () => {
  assert.deepEqual(asideLines("h", 4, 6, { oldLines: ["  a = 1", "  b = 2"], newLines: ["x", "y"] }), ["4 − a = 1", "5 − b = 2"]);
});

test("old lines beyond the new ones are counted", () => {
  assert.deepEqual(asideLines("h", 4, 6, { oldLines: ["a", "b", "c", "d"], newLines: ["x", "y"] }), ["4 − a", "5 − b  (+2 lines)"]);
  assert.deepEqual(asideLines("h", 4, 7, { oldLines: ["a"], newLines: ["x", "y", "z"] }), ["4 − a"]);
});

test("an old line is displayed at the most similar new line", () => {
  const moved = { oldLines: ['if version < b"1.1":'], newLines: ["# RFC 9110 says so", "# and more of it", 'if version == b"1.0":'] };
  assert.deepEqual(asideLines("h", 4, 7, moved), ['6 − if version < b"1.1":']);
  const between = { oldLines: ["total = 0", "gone()", "return total"], newLines: ["total = start", "log()", "return total + 1"] };
  assert.deepEqual(asideLines("h", 4, 7, between), ["4 − total = 0", "6 − return total  (+1 line)"]);
  const tail = { oldLines: ["value = 1", "gone()"], newLines: ["value = 2", "new", "other"] };
  assert.deepEqual(asideLines("h", 4, 7, tail), ["4 − value = 1  (+1 line)"]);
  const own = { oldLines: ["value = 1"], newLines: ["a", "value = 2"] };
  assert.deepEqual(asideLines("h", 4, 7, own), ["4 − value = 1"], "the user has added a line: its text is not known");
});

test("removed lines are displayed at the line after them", () => {
  assert.deepEqual(asideLines("h", 4, 4, { oldLines: ["", "gone()", "too()"] }), ["4 ↑ removed here: gone()  (+2 lines)"]);
});

test("added lines and whole files have no other text", () => {
  assert.deepEqual(asideLines("h", 4, 6, { newLines: ["x", "y"] }), []);
  assert.deepEqual(asideLines("h", 0, 6, { what: "create", oldLines: ["a"] }), []);
});

test("a proposal is displayed at its position", () => {
  const state = "proposed" as const;
  assert.deepEqual(asideLines("h", 4, 5, { state, oldLines: ["a"], newLines: ["x", "y"] }), ["4 → x  (+1 line)"]);
  assert.deepEqual(asideLines("h", 4, 4, { state, newLines: ["x"] }), ["4 ↑ would be added here: x"]);
  assert.deepEqual(asideLines("h", 4, 5, { state, oldLines: ["a"] }), ["4 → would be removed"]);
});

const RAW: EventHunk = {
  id: "h1", sessionId: "s1", turnId: "t", callId: "c1", path: "/w/a.py", uri: "file:///w/a.py", what: "content", state: "proposed",
  baseStart: 1, baseEnd: 2, start: 1, end: 2, baseLines: ["old\n"], lines: ["new\n"], link: "", laterTurns: [], looked: false,
};

test("a proposal is in the transcript with its diff, and only once", () => {
  const s = newSnapshot();
  const files = () => s.items.filter((item): item is FileItem => item.kind === "file");
  const news = { path: RAW.path, uri: RAW.uri, by: "agent" as const, comment: "" };
  applyEvent(s, recorded(1, "hunk_state", { ...news, hunks: [RAW, { ...RAW, id: "h2", start: 7, end: 7, baseLines: [] }] }));
  assert.deepEqual(files().map(({ added, removed, hunkIds, diff }) => [added, removed, hunkIds, diff]), [
    [2, 1, ["h1", "h2"], "@@ -2,1 +2,1 @@\n-old\n+new\n@@ -8,0 +8,1 @@\n+new\n"],
  ]);
  applyEvent(s, recorded(2, "hunk_state", { ...news, by: "user", hunks: [{ ...RAW, state: "kept" }] }));
  applyEvent(s, recorded(3, "file_change", { callId: "c1", path: RAW.path, uri: RAW.uri, action: "modify", added: 1, removed: 1, diff: "", hunks: [] }));
  assert.equal(files().length, 1);
  assert.equal(s.hunks.get("h1")?.state, "kept");
});
