// req: H9
import assert from "node:assert/strict";
import { test } from "node:test";
import { describeActivity } from "../../snapshot/activity";
import type { NoticeItem, Snapshot } from "../../snapshot/items";
import { addNotice, applyEvent, newSnapshot } from "../../snapshot/snapshot";
import { actionsOf, hintForPeople } from "../../commands/failure_actions";
import { recorded } from "../support/golden";
import { WebviewPage } from "../support/webview_page";

function failed(errorKind: string, more: object = {}): Snapshot {
  const s = newSnapshot();
  applyEvent(s, recorded(1, "user_input", { text: "go", clientKey: "k", queuedId: "" }));
  applyEvent(s, recorded(2, "error", { message: "It failed.", errorKind, hint: "Try this.", retryable: false, ...more }));
  return s;
}

const notice = (s: Snapshot) => s.items.find((item): item is NoticeItem => item.kind === "notice");

for (const [kind, more, expected] of [
  ["authentication", {}, ["setKey", "retry"]],
  ["not_found", {}, ["chooseModel", "retry"]],
  ["stream", {}, ["continue"]],
  ["overloaded", { retryable: true }, ["retry"]],
  ["invalid_request", {}, undefined],
  ["invalid_request", { action: "chooseModel" }, ["chooseModel"]],
  ["authentication", { action: "something new" }, ["setKey", "retry"]],
] as const) {
  test(`a failure offers the actions for its kind: ${kind} ${JSON.stringify(more)}`, () => {
    assert.deepEqual(notice(failed(kind, more))?.actions, expected);
  });
}

test("what came of a retry replaces its delay once the next item shows it", (t) => {
  const page = new WebviewPage();
  t.after(() => { page.close(); });
  const s = newSnapshot();
  const retry = { attempt: 2, delayMs: 2000, message: "no connection" };
  const words = (): string => { page.show(s); return [...page.document.querySelectorAll(".notice:not(.error)")].map((each) => each.textContent).join("; "); };
  applyEvent(s, recorded(1, "retry", retry));
  assert.equal(words(), "Trying again in 2 s (attempt 2): no connection");
  applyEvent(s, recorded(2, "error", { message: "No connection.", errorKind: "network", hint: "", retryable: true }));
  applyEvent(s, recorded(3, "retry", retry));
  applyEvent(s, recorded(4, "assistant_text_end", { partId: "p", text: "Hello.", interrupted: false }));
  assert.equal(words(), "Tried 3 times.; Tried again: no connection");
});

test("actions offered after a failure disappear with the next message", () => {
  const s = failed("authentication");
  s.touched.clear();
  applyEvent(s, recorded(3, "user_input", { text: "again", clientKey: "k2", queuedId: "" }));
  assert.equal(notice(s)?.actions, undefined);
  assert.ok(s.touched.has(1), "it is drawn without its buttons");
});

for (const [kind, more, shown] of [
  ["authentication", {}, false],
  ["network", { retryable: true, action: "retry" }, true],
  ["invalid_request", {}, true],
] as const) {
  test(`a failure shows its advice unless its first button is the next step, and only until the next message: ${kind}`, (t) => {
    const page = new WebviewPage();
    t.after(() => { page.close(); });
    const s = failed(kind, more);
    const feed = page.show(s);
    const words = () => page.find("#transcript article:has(.codicon-error)").textContent;
    assert.equal(words().includes("Try this."), shown);
    applyEvent(s, recorded(3, "user_input", { text: "again", clientKey: "k2", queuedId: "" }));
    page.receive(feed.takeChanges(s));
    assert.equal(words().includes("Try this."), kind === "invalid_request");
  });
}

test("protocol names are not displayed", () => {
  assert.equal(hintForPeople("agent/subscribe opens a stored session, agent/sessions lists them"), "");
  assert.equal(hintForPeople("Enter a valid key."), "Enter a valid key.");
});

test("every action that a server may name is implemented", () => {
  for (const action of ["setKey", "retry", "continue", "manageTrust", "chooseModel"]) assert.deepEqual(actionsOf("", false, action), [action]);
});

test("the end of the transcript displays the current activity", () => {
  const s = newSnapshot();
  assert.equal(describeActivity(s), "");
  s.progress = "Setting up the server: packages";
  assert.equal(describeActivity(s), "Setting up the server: packages");
  delete s.progress;
  applyEvent(s, recorded(1, "state", { state: "PROCESSING" }));
  assert.equal(describeActivity(s), "Thinking");
  applyEvent(s, recorded(2, "tool_call_start", { callId: "c", index: 0, name: "shell", arguments: "{}", summary: "pytest -q\nmore" }));
  assert.equal(describeActivity(s), "Waiting for the command", "its row has the words");
  applyEvent(s, recorded(3, "approval_requested", { requestId: "a", summary: "ls", rules: [] }));
  assert.equal(describeActivity(s), "", "it waits for the user");
});

test("a notice of the extension keeps its actions", () => {
  const s = newSnapshot();
  addNotice(s, "warn", "Not trusted.", "Why.", ["manageTrust"]);
  assert.deepEqual(notice(s)?.actions, ["manageTrust"]);
});

test("a failure with available actions is displayed once", () => {
  const s = newSnapshot();
  addNotice(s, "warn", "Not trusted.", "Why.", ["manageTrust"]);
  addNotice(s, "error", "Not trusted.", "Why.", ["manageTrust"]);
  assert.equal(s.items.length, 1);
});

test("what a notice names between backticks is shown as code", (t) => {
  const page = new WebviewPage();
  t.after(() => { page.close(); });
  const s = newSnapshot();
  applyEvent(s, recorded(1, "warning", { message: "It hangs; `agent-ls mcp test slow` shows why.", code: "mcp", action: "" }));
  page.show(s);
  assert.deepEqual([...page.document.querySelectorAll(".notice code")].map(({ textContent }) => textContent), ["agent-ls mcp test slow"]);
});
