// Clicks while the page below the pointer changes.
// req: H7, H9
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EventData } from "../../connection/protocol";
import type { Snapshot } from "../../snapshot/items";
import { applyEvent, newSnapshot } from "../../snapshot/snapshot";
import { recorded, sessionEvents } from "../support/golden";
import { WebviewPage } from "../support/webview_page";

function sessionUntil(kind: string): Snapshot {
  const s = newSnapshot();
  for (const event of sessionEvents.slice(0, sessionEvents.findIndex((each) => each.kind === kind) + 1)) applyEvent(s, event);
  return s;
}

function pointer(page: WebviewPage, name: string, target: HTMLElement): void {
  target.dispatchEvent(new page.dom.window.Event(name, { bubbles: true }));
}

test("a clicked element is not redrawn before the click ends, then all updates are drawn in order", async (t) => {
  const page = new WebviewPage();
  t.after(() => { page.close(); });
  const s = sessionUntil("file_change");
  const made = sessionEvents.find(({ kind }) => kind === "file_change")?.data as EventData["file_change"];
  const feed = page.show(s);
  const keep = page.button("Keep All");
  pointer(page, "pointerdown", keep);
  applyEvent(s, recorded(s.lastSeq + 1, "file_change", { ...made, callId: "c9", hunks: made.hunks.map((hunk) => ({ ...hunk, id: "h9" })) }));
  page.receive(feed.takeChanges(s));
  applyEvent(s, recorded(s.lastSeq + 1, "user_input", { text: "and more" }));
  page.receive(feed.takeChanges(s));
  assert.equal(keep.isConnected, true);
  pointer(page, "pointerup", keep);
  keep.click();
  assert.deepEqual(page.sent.at(-1), { type: "command", command: "keepAll" });
  await new Promise((done) => setTimeout(done, 0));
  await new Promise((done) => page.dom.window.setTimeout(done, 0));
  assert.equal(page.find("#review").textContent.startsWith("2 changes"), true);
  assert.equal(page.find("#transcript article:last-of-type").textContent.startsWith("and more"), true);
});

test("a second touch next to the button does not block drawing", async (t) => {
  const page = new WebviewPage();
  t.after(() => { page.close(); });
  const s = sessionUntil("file_change");
  const feed = page.show(s);
  pointer(page, "pointerdown", page.button("Keep All"));
  applyEvent(s, recorded(s.lastSeq + 1, "user_input", { text: "and more" }));
  page.receive(feed.takeChanges(s));
  pointer(page, "pointerdown", page.find("#transcript"));
  await new Promise((done) => page.dom.window.setTimeout(done, 0));
  assert.equal(page.find("#transcript article:last-of-type").textContent.startsWith("and more"), true);
});

test("a turn with pending proposals notifies the user, and a click leads to them", (t) => {
  const page = new WebviewPage();
  t.after(() => { page.close(); });
  const s = newSnapshot();
  const reset = page.show(s).takeNewestPage(s);
  assert.ok(reset.type === "reset");
  const shown = (proposed: number) => {
    page.receive({ ...reset, session: { ...reset.session, id: "s1", activity: proposed > 0 ? "waiting" : "working", hunks: { files: [], count: 1, proposed } } });
    return [...page.document.querySelectorAll("#session .badge")].map(({ textContent }) => textContent);
  };
  assert.deepEqual([shown(0), shown(1)], [["working"], ["asks you"]]);
  page.button("asks you").click();
  assert.deepEqual(page.sent.at(-1), { type: "command", command: "nextHunk" });
});

test("a double click answers one question, not the next one", (t) => {
  const page = new WebviewPage();
  t.after(() => { page.close(); });
  const s = sessionUntil("approval_requested");
  page.show(s);
  const click = (detail: number) => { page.button("Allow Once").dispatchEvent(new page.dom.window.MouseEvent("click", { bubbles: true, detail })); };
  click(2);
  assert.equal(page.sent.some(({ type }) => type === "allow"), false);
  click(1);
  assert.equal(page.sent.at(-1)?.type, "allow");
});
