// req: H9
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { Drafts } from "../../chat/drafts";
import { attachmentsOf } from "../../chat/labels";
import { parseSlash } from "../../chat/slash";
import type { DraftView } from "../../webview/messages";
import { wordAt } from "../../webview/mentions";

test("a slash starts a command of the editor, of the server, or is text", () => {
  const known = [{ name: "fix", description: "" }];
  assert.deepEqual(parseSlash("/mode plan", known), { kind: "client", name: "mode", words: "plan" });
  assert.deepEqual(parseSlash("/memory", known), { kind: "client", name: "memory", words: "" });
  assert.deepEqual(parseSlash("/fix the test\nplease", known), { kind: "server", name: "fix", words: "the test\nplease" });
  assert.deepEqual(parseSlash("/git:commit now", [...known, { name: "git:commit", description: "" }]), { kind: "server", name: "git:commit", words: "now" });
  assert.deepEqual(parseSlash("/mcp", known), { kind: "client", name: "mcp", words: "" });
  for (const text of ["/etc/hosts is wrong", "/unknown", "/ fix", "fix /fix", "/fixes"]) assert.deepEqual(parseSlash(text, known), { kind: "text" }, text);
});

test("a mention begins with @ at the start of a word, a command with / at the start of all", () => {
  const cases: readonly (readonly [string, unknown])[] = [
    ["look at @sh", { trigger: "@", query: "sh", from: 8 }],
    ["@", { trigger: "@", query: "", from: 0 }],
    ["(@a/b.py", { trigger: "@", query: "a/b.py", from: 1 }],
    ["/ex", { trigger: "/", query: "ex", from: 0 }],
    ["/mode pl", { trigger: "/", query: "mode pl", from: 0 }],
    ["ada@example.org", undefined],
    ["see /etc", undefined],
    ["@done ", undefined],
  ];
  for (const [text, expected] of cases) assert.deepEqual(wordAt(text, text.length), expected, text);
});

test("an attachment is named by its part alone", () => {
  const parts = [
    { type: "text", text: "words" }, { type: "file", uri: "file:///w/my%20file.py" }, { type: "folder", uri: "file:///w/shop/" },
    { type: "selection", uri: "file:///w/a.py", startLine: 2, endLine: 4, text: "" }, { type: "diagnostics" }, { type: "image", mediaType: "image/png", data: "" },
  ] as const;
  assert.deepEqual(attachmentsOf(parts).map(({ label }) => label), ["my file.py", "shop/", "a.py:3-4", "problems", "picture"]);
});

function drafts() {
  const kept: DraftView[] = [];
  const keptOf: string[] = [];
  const tell = (text: string, more: { readonly isLast?: boolean; readonly attachments?: DraftView["attachments"]; readonly of?: string } = {}) => {
    box.take({ type: "draft", text, attachments: more.attachments ?? null, isLast: more.isLast ?? false, of: more.of ?? "" });
  };
  const box = new Drafts((draft, of) => {
    kept.push(draft);
    keptOf.push(of);
  });
  return { kept, keptOf, tell, box };
}

test("text typed just before another session is displayed stays with its session", () => {
  const { kept, keptOf, tell, box } = drafts();
  const attachments = [{ label: "p", part: { type: "image", mediaType: "image/png", data: "AAAA" } }] as const;
  box.replace({ text: "", attachments: [] }, "s1");
  tell("half a", { of: "s1", attachments });
  box.replace({ text: "of the second", attachments: [] }, "s2");
  tell("half a thought", { of: "s1" });
  box.flush();
  assert.deepEqual([kept.map(({ text }) => text), keptOf], [["half a", "half a thought"], ["s1", "s1"]]);
  assert.deepEqual(kept.at(-1)?.attachments, attachments);
  tell("of the second one", { of: "s2", isLast: true });
  assert.deepEqual([kept.at(-1)?.text, keptOf.at(-1)], ["of the second one", "s2"]);
});

test("a draft is saved once after the last key, and at once when the page closes or the message is sent", (t) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  t.after(() => { mock.timers.reset(); });
  const { kept, tell, box } = drafts();
  tell("a");
  tell("ab");
  assert.equal(kept.length, 0);
  mock.timers.tick(200);
  assert.deepEqual(kept, [{ text: "ab", attachments: [] }]);
  tell("abc", { isLast: true });
  tell("");
  assert.deepEqual(kept.map(({ text }) => text), ["ab", "abc", ""]);
  box.flush();
  mock.timers.tick(5000);
  assert.equal(kept.length, 3, "nothing is kept twice");
});

test("attachments are reported once and kept with every later text", (t) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  t.after(() => { mock.timers.reset(); });
  const { kept, tell, box } = drafts();
  const attachments = [{ label: "p", part: { type: "image", mediaType: "image/png", data: "AAAA" } }] as const;
  tell("see", { attachments });
  tell("see this");
  mock.timers.tick(200);
  assert.equal(kept.length, 0, "pictures are not written at every pause");
  box.flush();
  assert.deepEqual(kept, [{ text: "see this", attachments }]);
});
