// req: H9
import assert from "node:assert/strict";
import { test } from "node:test";
import { targetOf } from "../../chat/target";
import { newSnapshot, applyEvent } from "../../snapshot/snapshot";
import { recorded } from "../support/golden";
import { WebviewPage } from "../support/webview_page";

function answered(text: string): WebviewPage {
  const s = newSnapshot();
  applyEvent(s, recorded(1, "assistant_text_start", { partId: "p" }));
  applyEvent(s, recorded(2, "assistant_text_end", { partId: "p", text, interrupted: false }));
  const page = new WebviewPage();
  page.show(s);
  return page;
}

test("a task list has checkboxes with accessible labels", (t) => {
  const page = answered("- [x] the first\n- [ ] the second\n- a third [x]\n");
  t.after(() => { page.close(); });
  const boxes = [...page.document.querySelectorAll(".markdown li [role=img]")];
  assert.deepEqual(boxes.map((box) => box.getAttribute("aria-label")), ["done", "to do"]);
  assert.deepEqual([...page.document.querySelectorAll(".markdown li")].map((item) => item.textContent), ["the first", "the second", "a third [x]"]);
});

for (const [text, targets] of [
  ["See `h11/_util.py` and `_events.py:12`.", ["h11/_util.py", "_events.py:12"]],
  ["The fault is in h11/_events.py:12-20, not below.", ["h11/_events.py:12-20"]],
  ["[lines](a.py#L40-L60)", ["a.py#L40-L60"]],
  ["`README.md` and `cart.py` but no `os.path` and no `x.append`", ["README.md", "cart.py"]],
  ["cart.py and e.g. version 1.2:3 are words", []],
  ["`git add a.py` is a command", []],
] as const) {
  test(`names of files are links: ${text}`, (t) => {
    const page = answered(text);
    t.after(() => { page.close(); });
    const links = [...page.document.querySelectorAll<HTMLElement>(".markdown a")];
    assert.deepEqual(links.map(({ dataset }) => dataset["open"]), targets);
    assert.deepEqual(links.filter(({ dataset }) => dataset["link"] !== undefined), []);
  });
}

for (const [text, name, lines] of [
  ["a.py", "a.py", undefined],
  ["a.py:12", "a.py", [11, 11]],
  ["a.py:12:4", "a.py", [11, 11]],
  ["h11/a.py:12-20", "h11/a.py", [11, 19]],
  ["file:///w/a.py#L40-L60", "file:///w/a.py", [39, 59]],
  ["a.py#L7", "a.py", [6, 6]],
  ["c:/w/a.py:3", "c:/w/a.py", [2, 2]],
] as const) {
  test(`a link leads to its lines: ${text}`, () => {
    assert.deepEqual(targetOf(text), { name, ...(lines && { lines }) });
  });
}

test("a file moved without changes is one change, with both names", (t) => {
  const raw = (id: string, path: string, what: "create" | "delete") => ({
    id, sessionId: "s1", turnId: "t", callId: "c", path, uri: `file://${path}`, what, state: "pending" as const, baseStart: 0, baseEnd: 0, start: 0, end: 0,
    baseLines: what === "delete" ? ["one\n", "two\n"] : [], lines: what === "create" ? ["one\n", "two\n"] : [], link: "", laterTurns: [], looked: false,
  });
  const change = (path: string, action: "create" | "delete", id: string) =>
    ({ callId: "c", path, uri: `file://${path}`, action, added: action === "create" ? 2 : 0, removed: action === "delete" ? 2 : 0, diff: "x", hunks: [raw(id, path, action)] });
  for (const order of [["delete", "create"], ["create", "delete"]] as const) {
    const s = newSnapshot();
    order.forEach((action, i) => { applyEvent(s, { ...recorded(i + 1, "file_change", change(action === "create" ? "/w/new.py" : "/w/old.py", action, `h${i}`)), turnId: "t" }); });
    applyEvent(s, { ...recorded(3, "processing_end", { reason: "completed" }), turnId: "t" });
    const page = new WebviewPage();
    t.after(() => { page.close(); });
    page.show(s);
    const files = [...page.document.querySelectorAll(".file")];
    assert.equal(files.length, 1);
    assert.match(files[0]?.textContent ?? "", /Renamed\/w\/old\.py → \/w\/new\.py/);
    assert.equal(page.document.querySelectorAll(".turn li").length, 0, "its own entry says it all");
    page.button("Undo All").click();
    assert.deepEqual(page.sent.at(-1), { type: "command", command: "undoAll" });
  }
});

test("after an answer by key the focus is in the prompt", (t) => {
  const s = newSnapshot();
  const page = new WebviewPage();
  t.after(() => { page.close(); });
  applyEvent(s, recorded(1, "question_asked", { questionId: "q", question: "Which?", choices: ["Euro", "Dollar"], multiple: false }));
  const feed = page.show(s);
  page.button("Euro").focus();
  page.button("Euro").click();
  applyEvent(s, recorded(2, "question_answered", { questionId: "q", answers: ["Euro"], declined: false }));
  page.receive(feed.takeChanges(s));
  assert.equal(page.document.activeElement, page.prompt);
});

test("a stopped turn can be continued until another message is sent", (t) => {
  const s = newSnapshot();
  const page = new WebviewPage();
  t.after(() => { page.close(); });
  applyEvent(s, { ...recorded(1, "processing_end", { reason: "interrupted" }), turnId: "t" });
  const feed = page.show(s);
  page.button("Continue").click();
  assert.deepEqual(page.sent.at(-1), { type: "act", action: "continue" });
  applyEvent(s, recorded(2, "user_input", { text: "Something else", clientKey: "", queuedId: "" }));
  page.receive(feed.takeChanges(s));
  assert.equal(page.document.querySelector("[data-action=continue]"), null);
});
