// What the chat does while its page does not exist, because the view is hidden, and when the page fails.
// req: H9
import assert from "node:assert/strict";
import { test } from "node:test";
import { Catalog } from "../../chat/catalog";
import { ChatPage } from "../../chat/chat_page";
import { Inbox, type PageHost } from "../../chat/inbox";
import { Sessions } from "../../sessions/session";
import { newSnapshot } from "../../snapshot/snapshot";
import type { ToView } from "../../webview/messages";
import { FakeConnection, sessionInfo, subscription } from "../support/fake_connection";
import { WebviewPage } from "../support/webview_page";

const NAMES = { relative: (path: string) => path };

test("a message that could not be sent returns to the prompt when the view is shown again", async () => {
  const connection = new FakeConnection({
    "agent/newSession": () => ({ session: sessionInfo("s1") }),
    "agent/subscribe": ({ sessionId }) => subscription(sessionId),
    "agent/submit": () => {
      page.forget();
      posted.length = 0;
      throw new Error("the server is gone");
    },
  });
  const sessions = new Sessions(connection, { newKey: () => "key", folder: () => "file:///w", configuration: () => ({}), log: () => undefined });
  const posted: ToView[] = [];
  const work: Promise<unknown>[] = [];
  const page = new ChatPage(sessions, new Inbox(sessions, new Catalog(sessions), {} as PageHost, NAMES), NAMES, {
    post: (message) => { posted.push(message); },
    keepDraft: () => undefined,
    inBackground: (each) => { work.push(each); },
    onReady: () => undefined,
  });
  page.receive({ type: "ready", of: "" });
  page.receive({ type: "submit", text: "Make it.", attachments: [], how: "send", of: "" });
  await Promise.all(work);
  assert.equal(posted.length, 0, "nobody would receive it");
  page.receive({ type: "ready", of: "" });
  assert.deepEqual(posted.at(-1), { type: "unsent", text: "Make it.", attachments: [] });
  page.dispose();
});

test("the page asks for the next update after one that it cannot draw", async (t) => {
  const page = new WebviewPage();
  t.after(() => { page.close(); });
  page.show(newSnapshot());
  await page.frame();
  const { drawn } = page;
  page.dom.window.addEventListener("error", (event) => { event.preventDefault(); });
  page.receive({ type: "update", session: null, items: [null as never], appends: [] });
  await page.frame();
  assert.equal(page.drawn, drawn + 1);
});
