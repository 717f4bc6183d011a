// req: H9
// The transcript displays each information only once: rows of calls, cards of changes, approvals.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { restoreSnapshot } from "../../snapshot/history";
import type { Snapshot } from "../../snapshot/items";
import type { StoredItem } from "../../connection/protocol";
import { applyEvent, newSnapshot } from "../../snapshot/snapshot";
import { fileOf } from "../../snapshot/tool_words";
import { subscription } from "../support/fake_connection";
import { LOOKS, recorded } from "../support/golden";
import { WebviewPage } from "../support/webview_page";

const END = { output: "ok", summary: "", isError: false, errorKind: "", durationMs: 1, outputChars: 0, outputRef: "", exitCode: null, modelChars: null, outputBytes: null, changes: [], index: 0, inputSummary: "" };

function open(t: TestContext, s: Snapshot): WebviewPage {
  const page = new WebviewPage();
  t.after(() => { page.close(); });
  page.show(s);
  return page;
}

/** Creates the snapshot of a session with these calls, one after the other. */
function called(...calls: readonly (readonly [name: string, summary: string, args?: object])[]): Snapshot {
  const s = newSnapshot();
  calls.forEach(([name, summary, args = {}], i) => {
    applyEvent(s, recorded(s.lastSeq + 1, "tool_call_start", { callId: `c${i}`, index: 0, name, arguments: JSON.stringify(args), summary, ...(name in LOOKS && LOOKS[name as keyof typeof LOOKS]) }));
    applyEvent(s, recorded(s.lastSeq + 1, "tool_call_end", { ...END, callId: `c${i}`, name }));
  });
  return s;
}

function isSeen(element: Element): boolean {
  return element.closest("[hidden], .redundant, .folded") === null;
}

function edited(s: Snapshot, callId: string, path = "/w/a.py"): void {
  const hunk = { id: `h-${callId}`, sessionId: "s1", turnId: "t", callId, path, uri: `file://${path}`, what: "content", state: "pending", baseStart: 0, baseEnd: 1, start: 0, end: 1, baseLines: ["a\n"], lines: ["b\n"], link: "", laterTurns: [], looked: false } as const;
  applyEvent(s, { ...recorded(s.lastSeq + 1, "file_change", { callId, path, uri: `file://${path}`, action: "modify", added: 1, removed: 1, diff: "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n", hunks: [hunk] }), turnId: "t" });
}

test("a row names the lines that were read, and a click opens the file there", (t) => {
  const page = open(t, called(["read_file", "shop/util.py", { file_path: "shop/util.py", offset: 40, limit: 21 }]));
  assert.equal(page.find(".tool .what").textContent, "shop/util.py 40–60");
  page.find(".tool [data-open]").click();
  assert.deepEqual(page.sent.at(-1), { type: "openFile", target: "shop/util.py#L40-L60" });
  assert.equal(page.find(".tool details").hasAttribute("open"), false, "and leaves the row folded");
});

test("a finding of a review has its severity, a link to its lines, and its message", (t) => {
  const args = { file_path: "shop/util.py", start_line: 20, end_line: 22, severity: "warning", message: "The class is abstract, but it is made here." };
  const page = open(t, called(["report_finding", "warning shop/util.py:20 The class is…", args]));
  const card = page.find(".tool.finding.warning");
  assert.match(card.textContent, /shop\/util\.py:20.*The class is abstract, but it is made here\./);
  assert.ok(card.querySelector(".codicon-warning"));
  page.find(".tool.finding [data-open]").click();
  assert.deepEqual(page.sent.at(-1), { type: "openFile", target: "shop/util.py#L20-L22" });
});

for (const [args, lines] of [
  [{ path: "a.py" }, ""],
  [{ path: "a.py", offset: 3 }, "from 3"],
  [{ path: "a.py", offset: 3, end_line: 9 }, "3–9"],
  [{ path: "a.py", limit: 10 }, "1–10"],
] as const) {
  test(`the lines that ${JSON.stringify(args)} reads are "${lines}"`, () => {
    assert.equal(fileOf("read_file", "a.py", JSON.stringify(args))?.lines, lines);
  });
}

test("a call without a file, or with truncated arguments, opens nothing", () => {
  assert.equal(fileOf("shell", "make", '{"command":"make"}'), undefined);
  assert.equal(fileOf("read_file", "a.py", '{"path":"a.'), undefined);
  assert.equal(fileOf("read_file", "a.py…", '{"path":"a.py and more"}'), undefined);
});

test("a change is displayed once: by its card, and the call is a click away", (t) => {
  const s = called(["edit_file", "a.py", { file_path: "a.py", old_string: "a" }]);
  edited(s, "c0");
  applyEvent(s, recorded(s.lastSeq + 1, "tool_call_end", { ...END, callId: "c0", name: "edit_file" }));
  applyEvent(s, { ...recorded(s.lastSeq + 1, "processing_end", { reason: "completed" }), turnId: "t" });
  const page = open(t, s);
  assert.equal(isSeen(page.find(".tool")), false);
  assert.equal(isSeen(page.find(".turn")), false);
  page.button("Show the tool call that changed /w/a.py").click();
  assert.equal(isSeen(page.find(".tool")), true);
  assert.equal(page.find(".tool details").hasAttribute("open"), true, "with what it was called with");
  page.button("Show the tool call that changed /w/a.py").click();
  assert.equal(isSeen(page.find(".tool")), false);
});

test("a turn with several files has a summary once they are decided; before, the bar lists them", (t) => {
  const s = called(["edit_file", "a.py"], ["edit_file", "b.py"]);
  edited(s, "c0");
  edited(s, "c1", "/w/b.py");
  applyEvent(s, { ...recorded(s.lastSeq + 1, "processing_end", { reason: "completed" }), turnId: "t" });
  const page = open(t, s);
  assert.equal(page.find(".turn").hidden, true);
  page.find('#review [data-action="files"]').click();
  assert.equal(page.document.querySelectorAll("#review li").length, 2);
  const buttons = [...page.document.querySelectorAll("button[aria-label]")].filter((button) => /^(Keep|Undo)/.test(button.getAttribute("aria-label") ?? ""));
  assert.ok(buttons.every((button) => button.closest("#review")), "one place decides");
  const hunks = [...s.hunks.values()].map(({ id, uri }) => ({ id, sessionId: "s1", turnId: "t", callId: "c", path: uri.slice(7), uri, what: "content", state: "kept", baseStart: 0, baseEnd: 1, start: 0, end: 1, baseLines: ["a\n"], lines: ["b\n"], link: "", laterTurns: [], looked: false }) as const);
  applyEvent(s, recorded(s.lastSeq + 1, "hunk_state", { hunks }));
  const later = open(t, s);
  assert.match(later.find(".turn").textContent, /2 files changed.*all kept/);
  assert.equal(later.document.querySelector("#review"), null);
});

test("a diff that is too long for the page says how many lines are left", (t) => {
  const s = newSnapshot();
  const lines = Array.from({ length: 1000 }, (_, i) => `-price_${i} = ${i}\n+price_${i} = Price(${i}) # as a price\n`).join("");
  applyEvent(s, recorded(1, "file_change", { callId: "c", path: "/w/a.py", uri: "file:///w/a.py", action: "modify", added: 1000, removed: 1000, diff: `@@ -1,1000 +1,1000 @@\n${lines}`, hunks: [], copyOf: "" }));
  const page = open(t, s);
  assert.match(page.find(".file summary").textContent, /^2000 lines/);
  page.find(".file details").toggleAttribute("open", true);
  page.find(".file details").dispatchEvent(new page.dom.window.Event("toggle"));
  const shown = page.find(".file .diff").textContent.split("\n").filter((line) => /^[-+]price/.test(line)).length;
  assert.ok(shown > 0);
  assert.match(page.find(".file details").textContent, new RegExp(`${2000 - shown} more lines`));
});

test("the end of a turn says what was checked, and asks for the check again", (t) => {
  const s = called(["edit_file", "a.py"]);
  edited(s, "c0");
  const check = { callId: "c1", command: "pytest -q", result: "passed", exitCode: 0, durationMs: 3100, changedFiles: 0 } as const;
  const facts = { text: "Since the last change: `pytest -q` passed (exit 0, 3.1 s).", files: 1, checks: [check], otherCommands: 0, newProblems: null, fixedProblems: null };
  applyEvent(s, { ...recorded(s.lastSeq + 1, "turn_facts", facts), turnId: "t" });
  applyEvent(s, { ...recorded(s.lastSeq + 1, "processing_end", { reason: "completed" }), turnId: "t" });
  const page = open(t, s);
  assert.equal(page.find(".turn .evidence code").textContent, "pytest -q");
  assert.equal(page.find(".turn .evidence").classList.contains("passed"), true);
  page.button("Run Again").click();
  assert.deepEqual(page.sent.filter(({ type }) => type === "submit"), [{ type: "submit", text: "Run `pytest -q` again.", attachments: [], how: "queue" }]);
});

test("an allowed approval is displayed in its call's row; a denial with a reason by itself", (t) => {
  const s = newSnapshot();
  const effect = { type: "CommandEffect", command: "make", workingDir: "/w", envVars: [], background: false } as const;
  for (const [callId, decision, reason] of [["c1", "allow", ""], ["c2", "deny", "not now"]] as const) {
    applyEvent(s, recorded(s.lastSeq + 1, "tool_call_start", { callId, index: 0, name: "shell", arguments: "{}", summary: "make" }));
    applyEvent(s, recorded(s.lastSeq + 1, "approval_requested", { requestId: callId, callId, tool: "shell", summary: "make", reason: "", effect, digest: "", rules: [], agentId: "" }));
    applyEvent(s, recorded(s.lastSeq + 1, "approval_resolved", { requestId: callId, decision, scope: "session", decidedBy: "", reason, ruleId: "", clientKey: "", command: "" }));
    applyEvent(s, recorded(s.lastSeq + 1, "tool_call_end", { ...END, callId, name: "shell", isError: decision === "deny" }));
  }
  const page = open(t, s);
  assert.match(page.find(".tool .outcome").textContent, /allowed for this session/);
  assert.deepEqual([...page.document.querySelectorAll(".approval.done")].filter(isSeen).map(({ textContent }) => textContent), ["Denied: make — “not now”"]);
});

test("consecutive read-only calls are one line that expands, with the reasoning between them", (t) => {
  const s = called(["read_file", "a.py"], ["grep", "total"]);
  applyEvent(s, recorded(s.lastSeq + 1, "reasoning_end", { partId: "r", text: "Hm.", interrupted: false }));
  applyEvent(s, recorded(s.lastSeq + 1, "tool_call_start", { callId: "last", index: 0, name: "read_file", arguments: "{}", summary: "b.py", ...LOOKS.read_file }));
  const page = new WebviewPage();
  t.after(() => { page.close(); });
  const feed = page.show(s);
  assert.equal(page.document.querySelector(".group"), null, "the third still runs");
  applyEvent(s, recorded(s.lastSeq + 1, "tool_call_end", { ...END, callId: "last", name: "read_file" }));
  page.receive(feed.takeChanges(s));
  assert.equal(page.find(".group").textContent, "Read 2 files, searched 1 time");
  assert.equal([...page.document.querySelectorAll(".tool, .reasoning")].filter(isSeen).length, 0);
  page.find(".group").click();
  assert.deepEqual([page.find(".group").getAttribute("aria-expanded"), [...page.document.querySelectorAll(".tool, .reasoning")].filter(isSeen).length], ["true", 4]);
  applyEvent(s, recorded(s.lastSeq + 1, "user_input", { text: "go on" }));
  page.receive(feed.takeChanges(s));
  assert.equal(page.find(".group").getAttribute("aria-expanded"), "true", "it stays open");
});

test("a failed command is never folded", (t) => {
  const s = called(["read_file", "a.py"], ["read_file", "b.py"], ["grep", "x"]);
  applyEvent(s, recorded(s.lastSeq + 1, "tool_call_end", { ...END, callId: "c1", name: "read_file", isError: true }));
  assert.equal(open(t, s).document.querySelector(".group"), null);
});

test("a running command has its duration, its terminal and Stop next to it", (t) => {
  const s = newSnapshot();
  applyEvent(s, recorded(1, "tool_call_start", { callId: "c", index: 0, name: "shell", arguments: "{}", summary: "make" }));
  applyEvent(s, recorded(2, "terminal_open", { terminalId: "t1", callId: "c", title: "make", background: false }));
  const page = new WebviewPage();
  t.after(() => { page.close(); });
  const feed = page.show(s);
  assert.match(page.find(".tool .clock").textContent, /^\d+ s$/);
  page.button("Stop this command").click();
  assert.deepEqual(page.sent.at(-1), { type: "kill", terminalId: "t1" });
  applyEvent(s, recorded(3, "terminal_exit", { terminalId: "t1", exitCode: 0 }));
  page.receive(feed.takeChanges(s));
  assert.equal(page.document.querySelector(".tool .clock"), null);
  assert.equal(page.find(".tool .quick").hidden, true);
});

test("an approval displays the model's purpose of the command", (t) => {
  const s = newSnapshot();
  const effect = { type: "CommandEffect", command: "make", workingDir: "/w", envVars: [], background: false } as const;
  applyEvent(s, recorded(1, "tool_call_start", { callId: "c", index: 0, name: "shell", arguments: '{"command": "make", "description": "Build the \\"docs\\""}', summary: "make" }));
  applyEvent(s, recorded(2, "approval_requested", { requestId: "a", callId: "c", tool: "shell", summary: "make", reason: "", effect, digest: "", rules: [], agentId: "" }));
  assert.equal(open(t, s).find(".approval .about").textContent, 'Build the "docs"');
});

test("a rename is one change, also after a reload", (t) => {
  const hunk = (id: string, path: string, what: "create" | "delete") => ({
    id, sessionId: "s1", turnId: "t", callId: "c", path, uri: `file://${path}`, what, state: "pending" as const, baseStart: 0, baseEnd: 0, start: 0, end: 0,
    baseLines: what === "delete" ? ["one\n"] : [], lines: what === "create" ? ["one\n"] : [], link: "", laterTurns: [], looked: false,
  });
  const stored = (seq: number, path: string, action: "create" | "delete"): StoredItem => ({
    id: `i${seq}`, seq, turnId: "t", timestamp: "", kind: "file", callId: "c", path, uri: `file://${path}`, action, added: 1, removed: 1, diff: "x", copyOf: "", hunks: [hunk(`h${seq}`, path, action)],
  });
  for (const [first, second] of [["delete", "create"], ["create", "delete"]] as const) {
    const path = { delete: "/w/old.py", create: "/w/new.py" };
    const items = [stored(3, path[second], second), stored(2, path[first], first), { id: "i1", seq: 1, turnId: "t", timestamp: "", kind: "user", text: "rename it" } as const];
    const s = restoreSnapshot({ items, more: false }, subscription("s1", { lastSeq: 3 }));
    assert.deepEqual(s.items.map(({ index }) => index), [0, 1]);
    const page = open(t, s);
    assert.equal(page.document.querySelectorAll(".file").length, 1);
    assert.match(page.find(".file .head").textContent, /^Renamed\/w\/old\.py → \/w\/new\.py/);
  }
});
