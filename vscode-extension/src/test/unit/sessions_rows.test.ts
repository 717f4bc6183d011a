// req: H9
import assert from "node:assert/strict";
import { test } from "node:test";
import { Library } from "../../sessions/library";
import { formatAge, fileName, rowOf, runningRow } from "../../sessions/rows";
import { FakeConnection, sessionInfo } from "../support/fake_connection";

const NOW_MS = Date.parse("2026-03-02T12:00:00Z");
const MINUTE_MS = 60_000;

test("the age of a session is one or two words", () => {
  const words = [0, 5, 90, 26 * 60, 3 * 24 * 60, 60 * 24 * 60].map((minutes) => formatAge(NOW_MS - minutes * MINUTE_MS, NOW_MS));
  assert.deepEqual(words, ["just now", "5 min ago", "1 h ago", "yesterday", "3 days ago", "2026-01-01"]);
  assert.equal(formatAge(NaN, NOW_MS), "");
});

test("a session shows its activity before its last use", () => {
  const at = { updated: "2026-03-02T11:50:00Z", title: "Fix it\nplease" };
  const row = rowOf(sessionInfo("s1", { ...at, state: "AWAITING_INPUT" }), "s1", NOW_MS);
  assert.deepEqual(row, {
    label: "Fix it", description: "shown · asks you · 10 min ago", icon: "bell-dot", context: "session.live", spoken: "Fix it, shown, asks you, 10 min ago",
  });
  const stored = rowOf(sessionInfo("s2", { live: false, title: "" }), "s1", NOW_MS);
  assert.deepEqual([stored.label, stored.icon, stored.context, stored.description], ["(no title)", "history", "session", ""]);
});

test("a session of another window has a lock, and menus that change nothing", () => {
  const row = rowOf(sessionInfo("s1", { access: "readOnly", state: "PROCESSING" }), undefined, NOW_MS);
  assert.deepEqual([row.icon, row.context, row.description], ["lock", "session.readOnly", "in another window"]);
});

// req: H23
test("a running session of another editor shows what it does, where, and what it costs", () => {
  const owner = { pid: 7, host: "here", program: "Neovim" };
  const info = sessionInfo("s1", {
    title: "Fix it", updated: "2026-03-02T11:50:00Z", workspaceFolder: "file:///home/ada/my%20shop", activity: "waiting", costUsd: 0.254,
    access: "readOnly", owner, worktree: "file:///state/worktrees/s1/shop",
  });
  assert.deepEqual(runningRow(info, NOW_MS), {
    label: "$(bell-dot) Fix it", description: "waits for you · 10 min ago · $0.25", detail: "Neovim (process 7 on here) · worktree · /home/ada/my shop",
  });
});

test("an exported file is named by the title, without characters that file systems refuse", () => {
  assert.equal(fileName({ id: "s1", title: "Fix: the Café/discount?" }, "markdown"), "fix-the-cafe-discount.md");
  assert.equal(fileName({ id: "s1", title: "⚙" }, "jsonl"), "s1.jsonl");
  assert.equal(fileName({ id: "s1", title: "" }, "html"), "s1.html");
});

test("a page starts at the cursor of the last one", async () => {
  const connection = new FakeConnection({ "agent/sessions": ({ cursor }) => ({ sessions: [sessionInfo(cursor ?? "first")], ...(cursor === undefined && { nextCursor: "c" }) }) });
  const library = new Library(connection, () => "k");
  assert.equal((await library.fetchPage("file:///w")).nextCursor, "c");
  const second = await library.fetchPage("file:///w", "c");
  assert.deepEqual([second.sessions[0]?.id, second.nextCursor], ["c", undefined]);
  assert.deepEqual(connection.asked[1]?.params, { limit: 30, workspaceFolder: "file:///w", cursor: "c" });
});

test("requests that change a session have a key, and force only on purpose", async () => {
  const connection = new FakeConnection({
    "agent/fork": () => ({ session: sessionInfo("s2") }), "agent/rename": () => ({ session: sessionInfo("s1") }),
    "agent/deleteSession": () => ({}), "agent/closeSession": () => ({}), "agent/export": ({ format }) => ({ text: format }),
  });
  const library = new Library(connection, () => "k");
  assert.equal((await library.fork("s1", "t3")).id, "s2");
  await library.rename("s1", "New");
  await library.remove("s1", false);
  await library.remove("s1", true);
  await library.close("s1");
  assert.equal(await library.fetchTranscript("s1", "markdown"), "markdown");
  assert.equal(await library.fetchTranscript("s1", "html", true), "html");
  const key = { sessionId: "s1", clientKey: "k" };
  assert.deepEqual(connection.asked.map(({ params }) => params), [
    { ...key, atTurnId: "t3" }, { ...key, title: "New" }, key, { ...key, force: true }, key, { sessionId: "s1", format: "markdown" },
    { sessionId: "s1", format: "html", redact: true },
  ]);
});
