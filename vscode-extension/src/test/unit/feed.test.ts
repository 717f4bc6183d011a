// req: H9, H12
import assert from "node:assert/strict";
import { test } from "node:test";
import { Feed } from "../../chat/feed";
import type { Snapshot } from "../../snapshot/items";
import { applyEvent, newSnapshot } from "../../snapshot/snapshot";
import type { FileView, ItemView, ToView, ToolView } from "../../webview/messages";
import { delta, recorded, sessionEvents } from "../support/golden";

const feedOf = () => new Feed({ relative: (path) => path.replace("/home/ada/shop/", "") });

type Message<T extends ToView["type"]> = Extract<ToView, { type: T }>;

function as<T extends ToView["type"]>(type: T, message: ToView | undefined): Message<T> {
  assert.equal(message?.type, type);
  return message as Message<T>;
}

function itemsUntil(kind: string): readonly ItemView[] {
  const s = newSnapshot();
  for (const event of sessionEvents) {
    applyEvent(s, event);
    if (event.kind === kind) break;
  }
  return as("reset", feedOf().takeNewestPage(s)).items;
}

function withText(s: Snapshot, text: string): void {
  applyEvent(s, recorded(s.lastSeq + 1, "assistant_text_start", { partId: "p" }));
  applyEvent(s, delta("assistant_text_delta", "p", 0, text, s.lastSeq));
}

test("only the new part of a growing text is sent, and only once", () => {
  const s = newSnapshot();
  const feed = feedOf();
  feed.takeNewestPage(s);
  withText(s, "Hello");
  assert.deepEqual(as("update", feed.takeChanges(s)).items.map((item) => "text" in item && item.text), ["Hello"]);
  applyEvent(s, delta("assistant_text_delta", "p", 5, " 😀", s.lastSeq));
  applyEvent(s, delta("assistant_text_delta", "p", 7, "!", s.lastSeq));
  const update = as("update", feed.takeChanges(s));
  assert.deepEqual([update.items, update.appends], [[], [{ id: "p", text: " 😀!", open: true }]]);
  assert.equal(feed.takeChanges(s), undefined);
});

test("a replaced text is sent completely", () => {
  const s = newSnapshot();
  const feed = feedOf();
  withText(s, "Helo");
  feed.takeNewestPage(s);
  applyEvent(s, recorded(2, "assistant_text_end", { partId: "p", text: "Hello", interrupted: false }));
  const update = as("update", feed.takeChanges(s));
  assert.deepEqual([update.appends, update.items.map((item) => "text" in item && item.text)], [[], ["Hello"]]);
});

test("a long history is sent in pages, newest first, and undisplayed items are not updated", () => {
  const s = newSnapshot();
  for (let i = 1; i <= 250; i++) applyEvent(s, recorded(i, "user_input", { text: String(i) }));
  const feed = feedOf();
  const reset = as("reset", feed.takeNewestPage(s));
  assert.deepEqual([reset.first, reset.items.length, reset.more], [200, 50, true]);
  s.touched.add(3);
  assert.equal(feed.takeChanges(s), undefined);
  const earlier = as("earlier", feed.takeEarlierPage(s, reset.first));
  assert.deepEqual([earlier.first, earlier.items[0]?.index, earlier.items.length], [150, 150, 50]);
  const oldest = as("earlier", feed.takeEarlierPage(s, 50));
  assert.deepEqual([oldest.items.length, oldest.more], [50, false]);
});

test("the session is sent when something in it changed", () => {
  const s = newSnapshot();
  const feed = feedOf();
  feed.takeNewestPage(s);
  applyEvent(s, recorded(1, "state", { state: "PROCESSING" }));
  assert.equal(as("update", feed.takeChanges(s)).session?.activity, "working");
  assert.equal(feed.takeChanges(s), undefined);
});

test("a change has its relative path and the states of its hunks", () => {
  const of = (kind: string) => itemsUntil(kind).find((item): item is FileView => item.kind === "file");
  const made = of("file_change");
  assert.deepEqual([made?.path, made?.states, made?.openIds], ["shop/cart.py", [{ state: "pending", count: 1 }], ["h1"]]);
  assert.deepEqual([of("session_end")?.states, of("session_end")?.openIds], [[{ state: "kept", count: 1 }], []]);
});

test("a long output is truncated in the middle with a mark, a running one shows its end", () => {
  const s = newSnapshot();
  const long = "x".repeat(30_000);
  applyEvent(s, recorded(1, "tool_call_start", { callId: "c", name: "shell", arguments: "{}", summary: "make" }));
  applyEvent(s, delta("tool_call_output_delta", "c:out", 0, `${long}end`, 1));
  const running = as("reset", feedOf().takeNewestPage(s)).items[0] as ToolView;
  assert.deepEqual([running.output.length, running.output.endsWith("end")], [2_000, true]);
  applyEvent(s, recorded(2, "tool_call_end", { callId: "c", name: "shell", output: long, summary: "", isError: false, durationMs: 1500, exitCode: 2 }));
  const done = as("reset", feedOf().takeNewestPage(s)).items[0] as ToolView;
  assert.deepEqual([done.cutChars, done.outcome], [14_000, "exit 2 · 1.5 s"]);
  assert.match(done.output, /⋯ 14000 characters not shown here/);
});
