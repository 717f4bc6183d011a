// req: H9
// The content of an empty chat (examples, recent sessions, state of the API key), and the actions of code blocks.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { examplesFor, withRecent } from "../../chat/home_model";
import { notebookDiff } from "../../chat/notebook_diff";
import { applyEvent, newSnapshot } from "../../snapshot/snapshot";
import type { Home } from "../../webview/messages";
import { recorded } from "../support/golden";
import { WebviewPage } from "../support/webview_page";

const HOME: Home = {
  examples: ["Explain what a.py does and how it is used.", "Run the tests and fix what fails.", "Write a README."],
  recents: [{ id: "s7", title: "Fix the tax", when: "2 h ago" }], key: "missing", provider: "Anthropic",
};

function open(t: TestContext, home: Home = HOME): WebviewPage {
  const page = new WebviewPage();
  t.after(() => { page.close(); });
  page.show(newSnapshot());
  assert.equal(page.homeAsked, 1, "the page asks for it");
  page.receive({ type: "home", home });
  return page;
}

test("an example is inserted before the typed text and not sent", (t) => {
  const page = open(t);
  page.button(HOME.examples[1] ?? "").click();
  assert.equal(page.prompt.value, HOME.examples[1]);
  assert.equal(page.document.activeElement, page.prompt);
  page.type("with care");
  page.button(HOME.examples[0] ?? "").click();
  assert.equal(page.prompt.value, `${HOME.examples[0] ?? ""}\nwith care`);
  assert.equal(page.sent.filter(({ type }) => type === "submit").length, 0);
});

test("a recent session opens with one click", (t) => {
  const page = open(t);
  page.find(".recent").click();
  assert.deepEqual(page.sent.at(-1), { type: "openSession", id: "s7" });
  page.button("All sessions…").click();
  assert.deepEqual(page.sent.at(-1), { type: "command", command: "sessions" });
});

test("without a key the chat says so, with actions", (t) => {
  const page = open(t);
  assert.match(page.find("#welcome .state").textContent, /There is no API key for Anthropic yet\./);
  page.button("Set API Key…").click();
  assert.deepEqual(page.sent.at(-1), { type: "act", action: "setKey" });
  page.button("Try the walkthrough").click();
  assert.deepEqual(page.sent.at(-1), { type: "command", command: "demo" });
});

test("with a key the chat names the provider and offers the model picker", (t) => {
  const page = open(t, { ...HOME, key: "set" });
  assert.match(page.find("#welcome .state").textContent, /Anthropic is ready\./);
  page.button("Choose Model…").click();
  assert.deepEqual(page.sent.at(-1), { type: "act", action: "chooseModel" });
});

test("the first message replaces the welcome view", (t) => {
  const page = new WebviewPage();
  t.after(() => { page.close(); });
  const s = newSnapshot();
  const feed = page.show(s);
  applyEvent(s, recorded(1, "user_input", { text: "hello" }));
  page.receive(feed.takeChanges(s));
  page.receive({ type: "home", home: HOME });
  assert.equal(page.document.getElementById("welcome"), null);
});

for (const [what, project, examples] of [
  ["a project of Python with git", { file: "shop/cart.py", hasTests: true, hasGit: true, hasReadme: true }, ["Explain what shop/cart.py does and how it is used.", "Run the tests and fix what fails.", "Review my uncommitted changes and point out problems."]],
  ["an empty folder", { file: "", hasTests: false, hasGit: false, hasReadme: false }, ["Explain how this project is organised and where to start reading.", "Write tests for the most important module.", "Write a README for this project."]],
] as const) {
  test(`the examples fit the project: ${what}`, () => { assert.deepEqual(examplesFor(project), examples); });
}

test("the last used session is first, once, and the list is short", () => {
  const recent = (id: string, updatedMs: number) => ({ id, title: id, updatedMs });
  const list = ["a", "b", "c", "d", "e", "f"].map((id, i) => recent(id, i));
  assert.deepEqual(withRecent(list, recent("c", 90))?.map(({ id }) => id), ["c", "a", "b", "d", "e", "f"]);
  assert.equal(withRecent(list, recent("g", 90))?.length, 6);
  assert.equal(withRecent(list, recent("a", 59_000)), undefined, "no write for a little time");
  assert.equal(withRecent(list, { ...recent("a", 1), title: "renamed" })?.[0]?.title, "renamed");
});

test("code of an answer can be inserted, or passed to the agent as a change", (t) => {
  const page = new WebviewPage();
  t.after(() => { page.close(); });
  const s = newSnapshot();
  applyEvent(s, recorded(1, "assistant_text_end", { partId: "p", text: "So:\n\n```python\nx = 1\n```\n", interrupted: false }));
  page.show(s);
  page.button("Insert this code at the cursor").click();
  assert.deepEqual(page.sent.at(-1), { type: "insert", text: "x = 1\n" });
  page.button("Ask the agent to make this change").click();
  assert.deepEqual(page.sent.at(-1), { type: "submit", text: "Make this change in the project:\n\n```\nx = 1\n```", attachments: [], how: "send" });
});

test("the active file is displayed above the prompt, and a click excludes it", (t) => {
  const page = new WebviewPage();
  t.after(() => { page.close(); });
  page.show(newSnapshot());
  page.receive({ type: "along", along: { label: "shop/cart.py:3-9", isShared: true } });
  const chip = () => page.find(".along button");
  assert.deepEqual([chip().textContent, chip().getAttribute("aria-pressed")], ["shop/cart.py:3-9", "true"]);
  chip().focus();
  chip().click();
  assert.deepEqual(page.sent.at(-1), { type: "share", isShared: false });
  page.receive({ type: "along", along: { label: "shop/cart.py:3-9", isShared: false } });
  assert.deepEqual([chip().getAttribute("aria-pressed"), page.document.activeElement === chip()], ["false", true]);
  page.receive({ type: "along", along: null });
  assert.equal(page.find(".along").hidden, true);
});

test("a notebook change is displayed as lines of its cells", () => {
  const diff = ['--- a', '+++ b', '@@ -3,4 +3,4 @@', '   "source": [', '-   "x = 1\\n",', '+   "x = \\"2\\"\\n",', '    "y = 3"', '   ]', '+  "source": ["z = 4"]', '-  "execution_count": 1,'].join("\n");
  assert.deepEqual(notebookDiff(diff).split("\n"), ["@@ -3,4 +3,4 @@", "-x = 1", '+x = "2"', " y = 3", "+z = 4"]);
  assert.equal(notebookDiff("@@ -1 +1 @@\n-{\n+[\n"), "@@ -1 +1 @@\n-{\n+[\n", "what has no line of a cell stays as it is");
});
