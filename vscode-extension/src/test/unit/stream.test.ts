// req: H9
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { JSDOM } from "jsdom";
import { Feed } from "../../chat/feed";
import { applyEvent, newSnapshot } from "../../snapshot/snapshot";
import { StreamedMarkdown, work } from "../../webview/stream";
import { delta, recorded } from "../support/golden";

before(() => {
  const { window } = new JSDOM("");
  Object.assign(globalThis, { document: window.document, Text: window.Text });
});

/** Streams a text in pieces. Returns how often it was parsed, and the resulting element. */
function streamed(pieces: readonly string[]): { parses: number; element: HTMLElement } {
  const stream = new StreamedMarkdown("markdown");
  work.parses = 0;
  for (const piece of pieces) stream.append(piece, true);
  const { parses } = work;
  stream.append("", false);
  return { parses, element: stream.element };
}

test("10,000 deltas between two frames are one message with one part", () => {
  const s = newSnapshot();
  const feed = new Feed({ relative: (path) => path });
  applyEvent(s, recorded(1, "assistant_text_start", { partId: "p" }));
  applyEvent(s, delta("assistant_text_delta", "p", 0, "x", 1));
  feed.takeNewestPage(s);
  for (let i = 1; i <= 10_000; i++) applyEvent(s, delta("assistant_text_delta", "p", i, "x", 1));
  const update = feed.takeChanges(s);
  assert.ok(update?.type === "update");
  assert.deepEqual([update.items.length, update.appends.length, update.appends[0]?.text.length], [0, 1, 10_000]);
  assert.equal(feed.takeChanges(s), undefined);
});

test("each part is parsed once, and never more than the open block", () => {
  const pieces = Array.from({ length: 500 }, (_, i) => `Paragraph ${i} is **here**.\n\n`);
  const { parses, element } = streamed(pieces);
  assert.equal(parses, 500);
  assert.equal(element.querySelectorAll("p").length, 500);
});

test("a growing code block is not parsed until it ends", () => {
  const lines = Array.from({ length: 2_000 }, (_, i) => `let x${i} = ${i};\n`);
  const { parses, element } = streamed(["Look:\n\n```js\n", ...lines, "``", "`\n", "Done `now`.\n"]);
  assert.ok(parses < 8, `${parses} parses`);
  assert.equal(element.querySelector("pre code")?.textContent, lines.join(""));
  assert.equal(element.querySelectorAll("p").length, 2);
});

test("text that resembles the end of a code block stays in it", () => {
  for (const inside of ["``` not the end\n", "``\n", "    ```\n", "~~~\n"]) {
    const { element } = streamed(["````md\n", "```js\n", inside, "```\n", "````\n", "after"]);
    assert.equal(element.querySelector("pre code")?.textContent, `\`\`\`js\n${inside}\`\`\`\n`);
    assert.equal(element.querySelectorAll("p").length, 1);
  }
});

test("an endless list is split where an item begins, and its numbering continues", () => {
  const pieces = Array.from({ length: 600 }, (_, i) => `${i + 1}. item number ${i + 1} with some words\n`);
  const { element } = streamed(pieces);
  assert.equal(element.querySelectorAll("li").length, 600);
  const starts = [...element.querySelectorAll("ol")].map((list) => list.getAttribute("start"));
  assert.ok(starts.length > 1, "it was cut");
  assert.equal(Number(starts.at(-1)) > 1, true);
});
