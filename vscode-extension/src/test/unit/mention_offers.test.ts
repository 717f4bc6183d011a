// req: H24
// Mentions of all kinds: their completions, and their chips in the prompt and in sent messages.
import assert from "node:assert/strict";
import { test } from "node:test";
import { attachmentsOf } from "../../chat/labels";
import { mentionIcon, mentionsOf, OfferedValues, terminalLabel, terminalPart } from "../../chat/mention_offers";
import { displaySentMessage } from "../../chat/message_display";
import type { Completion, InputPart } from "../../connection/protocol";
import { newSnapshot } from "../../snapshot/snapshot";
import { WebviewPage } from "../support/webview_page";

const PARTS: readonly InputPart[] = [
  { type: "diff", staged: false }, { type: "diff", staged: true }, { type: "commit", revision: "1a2b3c" }, { type: "symbol", name: "count", uri: "file:///w/a.py", startLine: 3 },
  { type: "terminal", name: "zsh", text: "$ make" }, { type: "page", url: "https://example.org/x" }, { type: "resource", server: "db", uri: "table://x" },
];
const OF_LATER_VERSION = { type: "issue", uri: "issue:7" } as unknown as InputPart;

test("all kinds of the server are offered except commands", () => {
  const kinds = ["file", "folder", "symbol", "diff", "commit", "terminal", "page", "resource", "problems", "selection", "command", "issue"];
  const items = kinds.map((kind) => ({ kind, label: kind, part: OF_LATER_VERSION }) as Completion);
  assert.deepEqual(mentionsOf(items).map(({ kind }) => kind as string), kinds.filter((kind) => kind !== "command"));
});

test("a completion is what its own list says, also if an older list comes later", () => {
  const offered = new OfferedValues<string>();
  const [staged = ""] = offered.add(["staged"]);
  const [terminal = ""] = offered.add(["terminal"]);
  assert.deepEqual([staged, terminal, "0.0"].map((key) => offered.get(key)), ["staged", "terminal", undefined]);
});

test("an unknown kind has an icon too", () => {
  assert.deepEqual([mentionIcon("commit"), mentionIcon("issue")], ["git-commit", "mention"]);
});

test("each part is a chip, in the prompt and in a message that was sent", () => {
  const parts = [...PARTS, OF_LATER_VERSION];
  const labels = ["diff", "staged", "commit 1a2b3c", "count", "terminal zsh", "https://example.org/x", "db:table://x", "issue"];
  assert.deepEqual(attachmentsOf(parts).map(({ label }) => label), labels);
  const { chips } = displaySentMessage(parts, "", { relative: (path) => path });
  assert.deepEqual(chips.map(({ label }) => label), labels);
  assert.deepEqual(chips.map(({ target }) => target), ["", "", "", "file:///w/a.py#L4", "", "https://example.org/x", "", ""]);
});

test("a terminal is mentioned by one word, and keeps the end of its text", () => {
  assert.equal(terminalLabel(" Run Task: build "), "terminal:Run-Task:-build");
  const { name, text } = terminalPart("zsh", `${"x".repeat(20_000)}the end\n\n`);
  assert.deepEqual([name, text?.length, text?.endsWith("xthe end")], ["zsh", 16_384, true]);
});

test("a chip for every kind of mention is removed by its button", (t) => {
  const page = new WebviewPage();
  t.after(() => { page.close(); });
  page.show(newSnapshot());
  const staged = { label: "staged", part: { type: "diff", staged: true } } as const;
  const terminal = { label: "terminal:zsh", part: { type: "terminal", name: "zsh", text: "$ make" } } as const;
  const unknown = { label: "issue 7", part: { type: "issue" } } as unknown as typeof staged;
  for (const attachment of [staged, terminal, unknown]) page.receive({ type: "attach", attachment });
  assert.deepEqual([...page.document.querySelectorAll(".chips li > .codicon")].map(({ className }) => className), ["codicon codicon-diff", "codicon codicon-terminal", "codicon codicon-mention"]);
  page.button("Remove staged").click();
  page.button("Remove issue 7").click();
  page.prompt.value = "why?";
  page.press("Enter");
  assert.deepEqual(page.sent.at(-1), { type: "submit", text: "why?", attachments: [terminal], how: "send" });
});
