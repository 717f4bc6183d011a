// req: H9, H6, H12
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Snapshot } from "../../snapshot/items";
import { applyEvent, newSnapshot } from "../../snapshot/snapshot";
import { delta, recorded, sessionEvents } from "../support/golden";
import { WebviewPage } from "../support/webview_page";

function open(t: TestContext, state?: unknown): WebviewPage {
  const page = new WebviewPage(state);
  t.after(() => { page.close(); });
  return page;
}

function sessionUntil(kind?: string): Snapshot {
  const s = newSnapshot();
  for (const event of sessionEvents) {
    applyEvent(s, event);
    if (event.kind === kind) break;
  }
  return s;
}

test("the page reports that it is ready, and shows the welcome view if there are no items", (t) => {
  const page = open(t);
  assert.deepEqual(page.sent, [{ type: "ready" }]);
  page.show(newSnapshot());
  assert.equal(page.document.querySelector("[data-action=sessions]"), null, "there are no sessions yet");
});

test("a whole session is drawn, each item once", async (t) => {
  const page = open(t);
  const s = sessionUntil();
  page.show(s);
  // The newest items are drawn at once, the others in slices.
  while (page.drawn === 0) await new Promise((done) => setImmediate(done));
  assert.equal(page.document.querySelectorAll("article").length, s.items.length);
  assert.equal(page.find(".user").textContent, "Never let the total be negative.");
  assert.match(page.find(".text").textContent, /I read the cart\./);
  assert.match(page.find(".tool.failed").textContent, /Writing.*notes.md.*denied: not now/);
  assert.match(page.find(".notice.error").textContent, /The key was refused.*Check ANTHROPIC_API_KEY/);
  assert.equal(page.document.getElementById("welcome"), null);
});

test("a stream in parts gives the same result as the whole text", (t) => {
  const text = "# Title\n\nSome **bold** text.\n\n- one\n- two\n\n```js\nlet x = 1;\n\nlet y;\n```\n\nEnd";
  const page = open(t);
  const s = newSnapshot();
  const feed = page.show(s);
  applyEvent(s, recorded(1, "assistant_text_start", { partId: "p" }));
  for (let i = 0; i < text.length; i++) {
    applyEvent(s, delta("assistant_text_delta", "p", i, text.charAt(i), 1));
    page.receive(feed.takeChanges(s));
  }
  applyEvent(s, recorded(2, "assistant_text_end", { partId: "p", text, interrupted: false }));
  page.receive(feed.takeChanges(s));
  const plain = (html: string) => html.replace(/<\/?div>|\s+/g, "");
  const whole = open(t);
  whole.show(s);
  assert.equal(plain(page.find(".markdown").innerHTML), plain(whole.find(".markdown").innerHTML));
  assert.equal(page.document.querySelectorAll(".markdown li").length, 2);
});

const HOSTILE = [
  "<script>window.pwned = 1</script>",
  "<img src=x onerror='window.pwned = 1'>",
  "[click](javascript:window.pwned=1)",
  "![picture](https://example.org/track.png)",
  "[data](data:text/html,<script>1</script>) [vs](command:workbench.action.quit)",
  "```\"><script>window.pwned = 1</script>\n</code><img src=x onerror=alert(1)>\n```",
].join("\n\n");

test("model text is never active markup: no script, no image, no other scheme", (t) => {
  const page = open(t);
  const s = newSnapshot();
  applyEvent(s, recorded(1, "assistant_text_end", { partId: "p", text: HOSTILE, interrupted: false }));
  applyEvent(s, recorded(2, "user_input", { text: HOSTILE }));
  applyEvent(s, recorded(3, "tool_call_start", { callId: "c", name: HOSTILE, arguments: JSON.stringify({ [HOSTILE]: HOSTILE }), summary: HOSTILE }));
  applyEvent(s, recorded(4, "tool_call_end", { callId: "c", name: HOSTILE, output: HOSTILE, summary: HOSTILE, isError: false, durationMs: 0 }));
  page.show(s);
  assert.equal(page.document.querySelectorAll("#app script, #app img, #app iframe, #app [onerror], #app [style]:not(textarea)").length, 0);
  const links = [...page.document.querySelectorAll("a")].map((link) => link.getAttribute("href"));
  assert.deepEqual(links.filter((href) => !/^(https?:|mailto:|#$)/.test(href ?? "")), []);
  assert.equal((page.dom.window as unknown as { pwned?: number }).pwned, undefined);
});

test("a link to a file asks the editor to open it", (t) => {
  const page = open(t);
  const s = newSnapshot();
  applyEvent(s, recorded(1, "assistant_text_end", { partId: "p", text: "See [cart](shop/cart.py:12).", interrupted: false }));
  page.show(s);
  page.find(".markdown a").click();
  assert.deepEqual(page.sent.at(-1), { type: "openFile", target: "shop/cart.py:12" });
});

test("an approval displays the exact command and sends each answer with its ids", (t) => {
  const page = open(t);
  page.show(sessionUntil("approval_requested"));
  assert.equal(page.find(".approval .command").textContent, "python -m pytest -q");
  assert.match(page.find(".approval").textContent, /Run this command\?.*Commands are asked about in this mode\./s);
  assert.match(page.find(".approval .answer-menu").innerHTML, /title="[^"]*Also allows: python -m pytest --verbose[^"]*Still needs approval: python -m something-else/s);
  page.button("Allow Once").click();
  page.action("Allow commands that start with python -m pytest (for this session)").click();
  page.action("Deny with a Reason…").click();
  (page.find(".reason") as HTMLInputElement).value = "not yet";
  page.button("Deny").click();
  assert.deepEqual(page.sent.slice(1), [
    { type: "allow", requestId: "a1", ruleId: null },
    { type: "allow", requestId: "a1", ruleId: "rule1" },
    { type: "deny", requestId: "a1", reason: "not yet" },
  ]);
});

// req: H7
test("no part of an effect under approval is hidden or reordered", (t) => {
  const page = open(t);
  const s = newSnapshot();
  const words = "ls \u001b];rm -r build;\u0007 \u202etxet";
  const diff = `--- a\n+++ b\n@@ -1 +1 @@\n-old\r\n+${words}\r\n`;
  const asked = { tool: "shell", summary: words, reason: "", digest: "d", rules: [] };
  const command = { type: "CommandEffect", command: words, workingDir: "/w", envVars: [], background: false } as const;
  const write = { type: "WriteEffect", files: [{ path: "/w/a.py", action: "modify", diff, changeKey: "k" }] } as const;
  applyEvent(s, recorded(1, "approval_requested", { ...asked, requestId: "a", callId: "c", effect: command }));
  applyEvent(s, recorded(2, "approval_requested", { ...asked, requestId: "b", callId: "d", effect: write }));
  page.show(s);
  const whole = "ls \u241b];rm -r build;\u2407 \ufffdtxet";
  assert.equal(page.find(".approval .command").textContent, whole);
  assert.match(page.find(".approval .diff").textContent, new RegExp(`-old\n\\+ls \u241b\\];rm -r build;\u2407 \ufffdtxet\n`));
});

test("an approval of an added tool displays all its arguments, and offers no replacement", (t) => {
  const page = open(t);
  const s = newSnapshot();
  const effect = { type: "CallEffect", tool: "deploy", text: "./scripts/deploy --to production", category: "admin", definition: "", argv: [], workingDir: "/w", envVars: [["TOKEN", "${TOKEN}"]] } as const;
  applyEvent(s, recorded(1, "approval_requested", { requestId: "a", callId: "c", tool: "deploy", summary: "./scripts/deploy…", reason: "", effect, digest: "d", rules: [] }));
  page.show(s);
  assert.match(page.find(".approval").textContent, /Allow deploy\?.*\.\/scripts\/deploy --to production.*with TOKEN=\$\{TOKEN\}/s);
  assert.doesNotMatch(page.find(".approval").textContent, /Run Another Command/);
});

function manyRules(): Snapshot {
  const s = newSnapshot();
  const effect = { type: "CommandEffect", command: "npm run build", workingDir: "/w", envVars: [], background: false } as const;
  const rules = (["session", "project", "user"] as const).map((scope) => ({ id: scope, label: { session: "Allow npm run build … in this session", project: "Allow npm run build … in this project, from now on", user: "Allow npm run build … in all projects, from now on" }[scope], scope, allows: ["npm run build --verbose"], stillAsked: [] }));
  applyEvent(s, recorded(1, "approval_requested", { requestId: "a", callId: "c", tool: "shell", summary: "npm run build", reason: "", effect, digest: "d", rules }));
  return s;
}

function focused(page: WebviewPage): string | null | undefined {
  return page.document.activeElement?.querySelector(".label")?.textContent;
}

function key(page: WebviewPage, name: string): void {
  page.document.activeElement?.dispatchEvent(new page.dom.window.KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
}

test("an approval is folded to two buttons, and a menu of all other answers for keys", (t) => {
  const page = open(t);
  page.show(manyRules());
  const seen = [...page.document.querySelectorAll<HTMLButtonElement>(".approval button")].filter((button) => button.closest("[hidden]") === null);
  assert.deepEqual(seen.map((button) => button.textContent || button.getAttribute("aria-label")), ["Allow Once", "More Answers", "Deny"]);
  const more = page.button("More Answers");
  more.focus();
  key(page, "ArrowDown");
  assert.equal(more.getAttribute("aria-expanded"), "true");
  assert.equal(page.find(`#${more.getAttribute("aria-controls") ?? ""}`).getAttribute("role"), "menu");
  assert.equal(focused(page), "Allow npm run build … in this session");
  key(page, "ArrowDown");
  assert.equal(focused(page), "Allow npm run build … in this project, from now on");
  key(page, "End");
  assert.equal(focused(page), "Deny with a Reason…");
  for (let i = 0; i < 3; i++) key(page, "ArrowDown");
  assert.equal(focused(page), "Allow npm run build … in all projects, from now on");
  (page.document.activeElement as HTMLButtonElement).click();
  assert.deepEqual(page.sent.at(-1), { type: "allow", requestId: "a", ruleId: "user" });
  assert.equal(more.getAttribute("aria-expanded"), "false");
});

test("the menu of an approval closes with Escape and on blur, and restores the focus", (t) => {
  const page = open(t);
  page.show(manyRules());
  const more = page.button("More Answers");
  more.click();
  key(page, "Escape");
  assert.equal(page.document.activeElement, more);
  assert.equal(more.getAttribute("aria-expanded"), "false");
  more.click();
  page.prompt.focus();
  assert.equal(more.getAttribute("aria-expanded"), "false");
  assert.equal(page.sent.filter(({ type }) => type === "allow" || type === "deny").length, 0);
});

test("a replacement command from the menu hides the rules of the original one", (t) => {
  const page = open(t);
  page.show(manyRules());
  page.button("More Answers").click();
  page.action("Run Another Command Instead…").click();
  const field = page.find("textarea.command") as HTMLTextAreaElement;
  assert.equal(page.document.activeElement, field);
  assert.equal(page.button("More Answers").hidden, true);
  field.value = "npm run lint";
  page.button("Run This Instead").click();
  assert.deepEqual(page.sent.at(-1), { type: "allow", requestId: "a", ruleId: null, command: "npm run lint" });
  page.button("Restore Command").click();
  assert.equal(page.button("More Answers").hidden, false);
});

test("an approval takes no focus, and is announced", (t) => {
  const page = open(t);
  const s = newSnapshot();
  const feed = page.show(s);
  page.find("textarea").focus();
  for (const event of sessionEvents.slice(0, sessionEvents.findIndex(({ kind }) => kind === "approval_requested") + 1)) applyEvent(s, event);
  page.receive(feed.takeChanges(s));
  assert.equal(page.document.activeElement?.tagName, "TEXTAREA");
  assert.equal(page.find("[role=status]").textContent, "The agent asks: run python -m pytest -q");
});

test("a change can be opened from its card, and kept and undone in the list of the bar", (t) => {
  const page = open(t);
  page.show(sessionUntil("file_change"));
  assert.match(page.find(".file .head").textContent, /Edited ?shop\/cart\.py\+2 −1/);
  assert.match(page.find(".file summary").textContent, /^\d+ lines · 1 to review$/);
  page.button("shop/cart.py").click();
  assert.match(page.find("#review").textContent, /1 change in 1 file/);
  assert.equal(page.document.querySelectorAll("#review li").length, 0);
  page.find('#review [data-action="files"]').click();
  assert.equal(page.find('#review [data-action="files"]').getAttribute("aria-expanded"), "true");
  page.find('#review [data-action="guide"]').click();
  assert.match(page.find("#review li").textContent, /shop\/cart\.py\+2 −1/);
  page.button("Keep the changes of shop/cart.py").click();
  page.button("Undo the changes of shop/cart.py").click();
  assert.deepEqual(page.sent.slice(1), [
    { type: "openFile", target: "file:///home/ada/shop/shop/cart.py" },
    { type: "command", command: "guidedReview" },
    { type: "review", hunkIds: ["h1"], verdict: "keep" },
    { type: "review", hunkIds: ["h1"], verdict: "undo" },
  ]);
});

test("Enter sends, Shift+Enter does not, and during a turn there are three ways to send", (t) => {
  const page = open(t);
  const s = sessionUntil("user_input");
  page.show(s);
  const submits = () => page.sent.flatMap((message) => (message.type === "submit" ? [`${message.how}: ${message.text}`] : []));
  const say = (text: string, key: KeyboardEventInit) => {
    page.type(text);
    page.press("Enter", key);
  };
  say("one", {});
  say("two", { altKey: true });
  say("three", { shiftKey: true, ctrlKey: true });
  say("four", { isComposing: true });
  const afterComposing: object = { keyCode: 229 }; // as Safari says it
  say("four", afterComposing);
  say("five", { shiftKey: true });
  assert.deepEqual(submits(), ["send: one", "queue: two", "stopFirst: three"]);
  assert.equal(page.prompt.value, "five");
  page.press("Escape");
  assert.deepEqual(page.sent.at(-1), { type: "stop" });
});

test("a message that was not accepted is restored in the prompt, before text typed since", (t) => {
  const page = open(t);
  page.show(newSnapshot());
  page.type("meanwhile");
  page.receive({ type: "unsent", text: "lost", attachments: [] });
  assert.equal(page.prompt.value, "lost\nmeanwhile");
});

test("draft and attachments are restored after a reload", async (t) => {
  const page = open(t);
  page.show(newSnapshot());
  const part = { type: "selection", uri: "file:///a.py", startLine: 0, endLine: 2, text: "x\n" } as const;
  page.receive({ type: "attach", attachment: { label: "a.py:1-2", part } });
  page.type("half a thought");
  while (!JSON.stringify(page.state ?? {}).includes("half a thought")) await new Promise((done) => setTimeout(done, 20));
  const again = open(t, page.state);
  assert.equal(again.prompt.value, "half a thought");
  again.press("Enter");
  const attachments = [{ label: "a.py:1-2", part }];
  assert.deepEqual(again.sent.at(-1), { type: "submit", text: "half a thought", attachments, how: "send" });
});

test("output is displayed without colours, and an overwritten line with its last state", (t) => {
  const page = open(t);
  const s = newSnapshot();
  applyEvent(s, recorded(1, "tool_call_start", { callId: "c", name: "shell", arguments: "{}", summary: "make" }));
  applyEvent(s, delta("tool_call_output_delta", "c:out", 0, "\u001b[31mred\u001b(B\u001b[m\u0007\r\n10%\r50%\r100%\u001b7\u001b8\u001bPq#0\u001b\\\n", 1));
  page.show(s);
  assert.equal(page.find(".tail").textContent, "red\n100%");
});
