// req: H9, H7
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Feed } from "../../chat/feed";
import { makeTextChange } from "../../chat/queue_changes";
import type { Snapshot } from "../../snapshot/items";
import { applyEvent, newSnapshot } from "../../snapshot/snapshot";
import type { FromView, Offer } from "../../webview/messages";
import { recorded, sessionEvents } from "../support/golden";
import { WebviewPage } from "../support/webview_page";

function open(t: TestContext, state?: unknown): WebviewPage {
  const page = new WebviewPage(state);
  t.after(() => { page.close(); });
  return page;
}

async function until(isSo: () => boolean): Promise<void> {
  for (const endMs = Date.now() + 30_000; !isSo(); ) {
    assert.ok(Date.now() < endMs, "not within 30 s");
    await new Promise((done) => setTimeout(done, 10));
  }
}

function withItems(count: number): Snapshot {
  const s = newSnapshot();
  for (let i = 1; i <= count; i++) applyEvent(s, recorded(i, "user_input", { text: `message ${i}` }));
  return s;
}

function next(page: WebviewPage, feed: Feed, s: Snapshot): void {
  page.receive(feed.takeChanges(s));
}

function last<T extends FromView["type"]>(page: WebviewPage, type: T): Extract<FromView, { type: T }> | undefined {
  return page.sent.findLast((message): message is Extract<FromView, { type: T }> => message.type === type);
}

test("each message is drawn once, after all of its parts have arrived", async (t) => {
  const page = open(t);
  const s = withItems(120);
  const feed = page.show(s);
  await until(() => page.drawn === 1);
  assert.equal(page.document.querySelectorAll("article").length, 50);
  applyEvent(s, recorded(121, "user_input", { text: "more" }));
  next(page, feed, s);
  await until(() => page.drawn === 2);
  assert.equal(page.document.querySelectorAll("article").length, 51);
});

test("the page has only a window of a long session, which moves back and forth", async (t) => {
  const page = open(t);
  const s = withItems(500);
  const feed = page.show(s);
  await until(() => page.drawn === 1);
  const texts = () => [...page.document.querySelectorAll("article")].map((each) => each.textContent);
  for (let shown = 100; shown <= 350; shown += 50) {
    page.button("Show Earlier").click();
    const asked = last(page, "earlier");
    assert.ok(asked);
    page.receive(feed.takeEarlierPage(s, asked.before));
    await until(() => texts()[0] === `message ${500 - shown + 1}` && texts().length <= 200);
  }
  assert.deepEqual([texts().length, texts().at(-1)], [200, "message 350"]);
  applyEvent(s, recorded(501, "user_input", { text: "out of sight" }));
  next(page, feed, s);
  assert.equal(texts().at(-1), "message 350");
  page.receive(feed.takeLaterPage(s, 349));
  await until(() => texts().at(-1) === "message 400");
  assert.deepEqual([texts().length, texts()[0]], [200, "message 201"]);
  page.button("Go to the end").click();
  assert.deepEqual(page.sent.at(-1), { type: "end" });
  page.receive(feed.takeNewestPage(s));
  await until(() => texts().length === 50);
  assert.equal(texts().at(-1), "out of sight");
});

test("queued messages can be edited, moved, sent and removed, and an edit survives updates", (t) => {
  const page = open(t);
  const s = newSnapshot();
  const feed = page.show(s);
  const queue = (...texts: string[]) => {
    applyEvent(s, recorded(s.lastSeq + 1, "queue", { items: texts.map((text) => ({ queuedId: text, text, clientKey: "", images: 0 })) }));
    next(page, feed, s);
  };
  queue("one", "two", "three");
  const row = (text: string, label: string) => {
    const found = [...page.document.querySelectorAll<HTMLElement>("#queue li")].find((each) => each.textContent === text);
    const button = [...(found?.querySelectorAll("button") ?? [])].find((each) => each.getAttribute("aria-label")?.startsWith(label));
    assert.ok(button, `${label} of ${text}`);
    return button;
  };
  row("two", "Move up").click();
  row("one", "Move down").click();
  row("two", "Move down").click();
  row("three", "Stop the running turn").click();
  row("three", "Remove").click();
  row("two", "Edit").click();
  const field = page.find("#queue textarea") as HTMLTextAreaElement;
  field.value = "two, but better";
  queue("two", "three");
  assert.equal((page.find("#queue textarea") as HTMLTextAreaElement).value, "two, but better");
  page.button("Save").click();
  assert.deepEqual(page.sent.slice(1), [
    { type: "moveQueued", queuedId: "two", before: "one" },
    { type: "moveQueued", queuedId: "one", before: "three" },
    { type: "moveQueued", queuedId: "two", before: null },
    { type: "startQueued", queuedId: "three" },
    { type: "removeQueued", queuedId: "three" },
    { type: "editQueued", queuedId: "two", text: "two, but better" },
  ]);
});

// req: H9
test("images of queued messages are listed, also while the text is edited", (t) => {
  const page = open(t);
  const s = newSnapshot();
  const feed = page.show(s);
  applyEvent(s, recorded(1, "queue", { items: [{ queuedId: "one", text: "look", clientKey: "", images: 2 }, { queuedId: "two", text: "", clientKey: "", images: 1 }] }));
  next(page, feed, s);
  const rows = () => [...page.document.querySelectorAll<HTMLElement>("#queue li")].map((each) => each.textContent);
  assert.deepEqual(rows(), ["look+ 2 pictures", "+ 1 picture"]);
  page.find('#queue [data-action="edit"]').click();
  assert.match(rows()[0] ?? "", /2 pictures stay attached/);
  assert.deepEqual(makeTextChange("one", "look here"), { edit: { queuedId: "one", input: [{ type: "text", text: "look here" }], keepImages: true } });
});

test("a replacement command is sent with the answer, without a rule", (t) => {
  const page = open(t);
  const s = newSnapshot();
  for (const event of sessionEvents.slice(0, sessionEvents.findIndex(({ kind }) => kind === "approval_requested") + 1)) applyEvent(s, event);
  page.show(s);
  page.action("Run Another Command Instead…").click();
  (page.find("textarea.command") as HTMLTextAreaElement).value = "python -m pytest -q tests/test_cart.py";
  assert.equal(page.button("More Answers").hidden, true);
  page.button("Run This Instead").click();
  assert.deepEqual(page.sent.at(-1), { type: "allow", requestId: "a1", ruleId: null, command: "python -m pytest -q tests/test_cart.py" });
  page.button("Restore Command").click();
  page.button("Allow Once").click();
  assert.deepEqual(page.sent.at(-1), { type: "allow", requestId: "a1", ruleId: null });
});

const OFFERS: readonly Offer[] = [
  { icon: "file", label: "shop/cart.py", detail: "open", insert: "@shop/cart.py ", token: "0", runs: false },
  { icon: "file", label: "tests/test_cart.py", detail: "", insert: "@tests/test_cart.py ", token: "1", runs: false },
];

function ask(page: WebviewPage, text: string): Extract<FromView, { type: "offer" }> {
  page.prompt.focus();
  page.prompt.value = text;
  page.prompt.setSelectionRange(text.length, text.length);
  page.prompt.dispatchEvent(new page.dom.window.Event("input", { bubbles: true }));
  const asked = last(page, "offer");
  assert.ok(asked);
  return asked;
}

test("a mention is selected by keys, attached, and named in the text", (t) => {
  const page = open(t);
  page.show(newSnapshot());
  const { request, trigger, query } = ask(page, "look at @ca");
  assert.deepEqual([trigger, query], ["@", "ca"]);
  page.receive({ type: "offers", request, offers: OFFERS });
  page.press("ArrowDown");
  assert.equal(page.find(".menu [aria-selected=true] .label").textContent, "tests/test_cart.py");
  assert.equal(page.prompt.getAttribute("aria-activedescendant"), page.find(".menu [aria-selected=true]").id);
  page.press("Enter");
  assert.deepEqual([page.prompt.value, last(page, "choose")?.token], ["look at @tests/test_cart.py ", "1"]);
  const part = { type: "file", uri: "file:///w/tests/test_cart.py" } as const;
  page.receive({ type: "attach", attachment: { label: "tests/test_cart.py", part } });
  page.press("Enter");
  assert.deepEqual(page.sent.at(-1), { type: "submit", text: "look at @tests/test_cart.py ", attachments: [{ label: "tests/test_cart.py", part }], how: "send" });
});

test("Escape closes the list without stopping the turn; a late answer shows nothing", (t) => {
  const page = open(t);
  const s = newSnapshot();
  applyEvent(s, recorded(1, "state", { state: "PROCESSING" }));
  page.show(s);
  const { request } = ask(page, "@ca");
  page.receive({ type: "offers", request, offers: OFFERS });
  page.press("Escape");
  page.receive({ type: "offers", request, offers: OFFERS });
  assert.deepEqual([page.find(".menu").hidden, last(page, "stop")], [true, undefined]);
});

test("a command without arguments runs when it is selected", (t) => {
  const page = open(t);
  page.show(newSnapshot());
  const { request } = ask(page, "/ne");
  page.receive({ type: "offers", request, offers: [{ icon: "play", label: "/new", detail: "", insert: "/new", token: null, runs: true }] });
  page.press("Enter");
  assert.deepEqual(page.sent.at(-1), { type: "submit", text: "/new", attachments: [], how: "send" });
  assert.equal(page.prompt.value, "");
});

test("a model is found by typing, a missing key is displayed, and efforts belong to the model", (t) => {
  const page = open(t);
  const s = newSnapshot();
  applyEvent(s, sessionEvents[0] ?? assert.fail());
  page.show(s);
  const providers = [{ id: "anthropic", name: "Anthropic", hasKey: true, keyVariable: "A" }, { id: "openai", name: "OpenAI", hasKey: false, keyVariable: "OPENAI_API_KEY" }];
  const model = (provider: string, id: string, efforts: string[]) => ({ provider, id, name: id.toUpperCase(), efforts, isDefault: false, images: true });
  const models = { defaultProvider: "anthropic", defaultMode: "ask" as const, providers, models: [model("openai", "wide", ["low"]), { ...model("ollama", "qwen", []), address: "http://127.0.0.1:11434" }, model("anthropic", "claude-x", ["low", "high"])] };
  page.receive({ type: "models", models });
  assert.deepEqual([...page.find("select[aria-label=Effort]").querySelectorAll("option")].map(({ value }) => value), ["", "low", "high"]);
  page.button("CLAUDE-X").click();
  assert.equal(page.modelsLooked, 1, "servers of the user's own are looked for once he chooses");
  const rows = () => [...page.document.querySelectorAll(".picker li")].map((each) => each.textContent);
  assert.deepEqual(rows(), ["QWENollama · http://127.0.0.1:11434", "CLAUDE-XAnthropic", "WIDEOpenAI · needs OPENAI_API_KEY"]);
  const filter = page.find(".picker input") as HTMLInputElement;
  filter.value = "open wi";
  filter.dispatchEvent(new page.dom.window.Event("input"));
  assert.equal(rows().length, 1);
  filter.dispatchEvent(new page.dom.window.KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  assert.deepEqual(page.sent.at(-1), { type: "configure", configuration: { provider: "openai", model: "wide" } });
});

test("without a list of models the editor uses its own picker", (t) => {
  const page = open(t);
  page.show(newSnapshot());
  page.receive({ type: "pickModel" });
  page.receive({ type: "models", models: null });
  assert.deepEqual(page.sent.at(-1), { type: "command", command: "configure" });
});

test("a draft is reported with every key, and each session has its own", (t) => {
  const page = open(t);
  const s = newSnapshot();
  const feed = page.show(s);
  const shown = (id: string, draft: { text: string; attachments: [] } | null) => {
    const reset = feed.takeNewestPage(s);
    assert.ok(reset.type === "reset");
    page.receive({ ...reset, session: { ...reset.session, id }, draft });
    return page.prompt.value;
  };
  page.type("for the");
  page.type("for the first");
  assert.deepEqual(page.drafts.at(-1), { type: "draft", text: "for the first", attachments: null, isLast: false, of: "" });
  assert.equal(shown("s1", null), "for the first", "what was written before there was a session is for it");
  assert.equal(shown("s1", { text: "old", attachments: [] }), "for the first", "the same session again: the page knows best");
  assert.equal(shown("s2", { text: "kept by the server", attachments: [] }), "kept by the server");
  assert.equal(shown("s3", null), "");
  page.dom.window.dispatchEvent(new page.dom.window.Event("pagehide"));
  assert.equal(page.drafts.at(-1)?.isLast, true);
});

test("an answer is announced to screen readers when it is complete, not while it streams", (t) => {
  const page = open(t);
  const s = newSnapshot();
  const feed = page.show(s);
  const said = () => page.find("[aria-label='Answers of the agent']").textContent;
  applyEvent(s, recorded(1, "assistant_text_start", { partId: "p" }));
  for (const [i, text] of ["It ", "works."].entries()) {
    applyEvent(s, { sessionId: "s1", kind: "assistant_text_delta", timestamp: "", partId: "p", offset: i * 3, after: 1, data: { text } });
    next(page, feed, s);
    assert.equal(said(), "");
  }
  applyEvent(s, recorded(2, "assistant_text_end", { partId: "p", text: "It works.", interrupted: false }));
  next(page, feed, s);
  assert.equal(said(), "It works.");
});

test("a web link is passed to the host, never followed by the page", (t) => {
  const page = open(t);
  const s = newSnapshot();
  applyEvent(s, recorded(1, "assistant_text_end", { partId: "p", text: "[web](https://example.org/?q=1)", interrupted: false }));
  page.show(s);
  const link = page.find(".markdown a");
  assert.equal(link.getAttribute("href"), "#");
  link.click();
  assert.deepEqual(page.sent.at(-1), { type: "openLink", url: "https://example.org/?q=1" });
});

test("the plan is displayed while active, and the bar decides about the files of a turn", (t) => {
  const page = open(t);
  const s = newSnapshot();
  const events = sessionEvents.filter(({ kind, seq }) => kind !== "hunk_state" && seq !== undefined);
  for (const event of events) {
    // Change a second file, because the end of a turn with one file is hidden.
    if (event.kind === "processing_end") applyEvent(s, { ...event, kind: "file_change", seq: s.lastSeq + 1, data: { callId: "other", path: "/w/b.py", uri: "file:///w/b.py", action: "modify", added: 1, removed: 0, diff: "", hunks: [] } });
    applyEvent(s, { ...event, seq: s.lastSeq + 1 });
  }
  applyEvent(s, recorded(s.lastSeq + 1, "plan", { explanation: "", items: [{ text: "Read", status: "done" }, { text: "Write", status: "active" }] }));
  page.show(s);
  assert.match(page.find("#plan summary").textContent, /1\/2.*Write/);
  assert.equal(page.document.querySelector(".turn .box"), null, "the bar lists the files until they are decided");
  page.button("Keep All").click();
  assert.deepEqual(page.sent.at(-1), { type: "command", command: "keepAll" });
});
