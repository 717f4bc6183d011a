// Typing and actions at the moment when the chat switches to another session.
// req: H9
import assert from "node:assert/strict";
import { test } from "node:test";
import { isLate } from "../../chat/late_messages";
import { newSnapshot } from "../../snapshot/snapshot";
import type { FromView } from "../../webview/messages";
import { WebviewPage } from "../support/webview_page";

function last(page: WebviewPage): Extract<FromView, { type: "submit" }> | undefined {
  return page.sent.findLast((message): message is Extract<FromView, { type: "submit" }> => message.type === "submit");
}

test("text typed while a session is created belongs to it, unless the prompt was not empty", (t) => {
  const page = new WebviewPage();
  t.after(() => { page.close(); });
  const s = newSnapshot();
  const feed = page.show(s);
  const shown = (id: string) => {
    const reset = feed.takeNewestPage(s);
    assert.ok(reset.type === "reset");
    page.receive({ ...reset, session: { ...reset.session, id }, draft: null });
    return page.prompt.value;
  };
  shown("s1");
  page.receive({ type: "making" });
  page.type("for the next");
  assert.equal(page.drafts.at(-1)?.of, "s1");
  assert.equal(shown("s1"), "for the next");
  assert.equal(shown("s2"), "for the next", "it was asked for before it was typed");
  assert.deepEqual(page.drafts.slice(-2).map(({ text, of }) => [text, of]), [["", "s1"], ["for the next", "s2"]]);
  page.receive({ type: "making" });
  assert.equal(shown("s3"), "", "what stood there before is the other session's");
  page.dom.window.dispatchEvent(new page.dom.window.Event("focus"));
  page.type("faster than");
  page.receive({ type: "making" });
  page.type("faster than the command");
  assert.equal(shown("s4"), "faster than the command", "typed since the command gave the keyboard back");
  page.type("");
  page.receive({ type: "making" });
  page.type("sent at once");
  page.press("Enter");
  assert.deepEqual([page.sent.at(-1)?.type, page.of], ["submit", ""], "no matter whether it is there yet");
  shown("s5");
  page.type("to this one");
  page.press("Enter");
  assert.deepEqual([page.sent.at(-1)?.type, page.of], ["submit", "s5"]);
});

test("the page reports when it gets and loses the keyboard focus", (t) => {
  const page = new WebviewPage();
  t.after(() => { page.close(); });
  for (const [event, has] of [["focus", true], ["blur", false], ["focus", true]] as const) {
    page.dom.window.dispatchEvent(new page.dom.window.Event(event));
    assert.equal(page.hasKeyboard, has);
  }
});

const PICTURE = { label: "p", part: { type: "image", mediaType: "image/png", data: "AAAA" } } as const;

for (const [when, typed, kept, theirs, wanted] of [
  ["the server has not received the last words", "", "half a thought", "half", "half a thought"],
  ["the server knows more than the page", "", "half", "half a thought", "half a thought"],
  ["something else was written elsewhere", "", "half a thought", "of another editor", "of another editor"],
  ["one writes on before the session is there", "half, no: whole", "half", "half", "half, no: whole"],
] as const) {
  test(`a draft after a reload, when ${when}`, (t) => {
    const page = new WebviewPage({ draft: { text: kept, attachments: [] }, sessionId: "s1", expanded: [] });
    t.after(() => { page.close(); });
    const s = newSnapshot();
    const reset = page.show(s).takeNewestPage(s);
    assert.ok(reset.type === "reset");
    assert.equal(page.prompt.value, kept);
    if (typed !== "") page.type(typed);
    page.receive({ ...reset, session: { ...reset.session, id: "s1" }, draft: { text: theirs, attachments: [PICTURE] } });
    assert.equal(page.prompt.value, wanted);
    const draft = page.drafts.at(-1);
    assert.deepEqual([draft?.text, draft?.of], wanted === theirs ? [undefined, undefined] : [wanted, "s1"], "a draft is reported only if it differs");
    page.press("Enter");
    assert.deepEqual(last(page)?.attachments, [PICTURE], "pictures are kept by the server only");
  });
}

test("text written before the first session is not lost to that session's draft", (t) => {
  const page = new WebviewPage();
  t.after(() => { page.close(); });
  const s = newSnapshot();
  const reset = page.show(s).takeNewestPage(s);
  assert.ok(reset.type === "reset");
  page.type("new words");
  page.receive({ ...reset, session: { ...reset.session, id: "s1" }, draft: { text: "older ones", attachments: [] } });
  assert.equal(page.prompt.value, "older ones\nnew words");
});

test("an action in a session that is no longer displayed affects no other session", () => {
  const stop = { type: "stop" } as const, next = { type: "command", command: "nextHunk" } as const;
  assert.equal(isLate({ ...stop, of: "s1" }, "s1"), false);
  assert.equal(isLate({ ...stop, of: "s1" }, "s2"), true);
  assert.equal(isLate({ ...stop, of: "s1" }, undefined), true);
  assert.equal(isLate({ type: "submit", text: "x", attachments: [], how: "send", of: "" }, "s2"), false, "meant for the one that is being made");
  assert.equal(isLate({ ...next, of: "s1" }, "s2"), false, "it is of no session");
});
