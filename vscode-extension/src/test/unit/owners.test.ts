// req: R4, H9
import assert from "node:assert/strict";
import { test } from "node:test";
import { foldAccess, isReadOnly, refuseIfReadOnly, describeOwner } from "../../sessions/owners";
import type { AgentEvent } from "../../connection/protocol";
import { Library } from "../../sessions/library";
import { Sessions } from "../../sessions/session";
import { findActivity, applyEvent, newSnapshot, openQuestion, pendingApprovals, applySubscription } from "../../snapshot/snapshot";
import { FakeConnection, sessionInfo, subscription } from "../support/fake_connection";
import { accessEvent, recorded } from "../support/golden";
import { WebviewPage } from "../support/webview_page";

const OWNER = { pid: 4711, host: "ada", program: "Neovim" };
const ASKED = { requestId: "r1", callId: "c1", tool: "shell", summary: "make test", effect: { type: "CommandEffect", command: "make test", workingDir: "/w", envVars: [], background: false }, digest: "d", reason: "it is a command", rules: [], agentId: "", cause: "mode" } as const;
const QUESTION = { questionId: "q1", callId: "c2", question: "Which one?", choices: ["this", "that"], multiple: false };

function asking() {
  const s = newSnapshot();
  applyEvent(s, recorded(1, "approval_requested", ASKED));
  applyEvent(s, recorded(2, "question_asked", QUESTION));
  s.session = { id: "s1", access: "owner" };
  return s;
}

const readOnly: AgentEvent = { sessionId: "s1", kind: "access", timestamp: "", data: { access: "readOnly", owner: OWNER } };

test("the golden access event is applied in any order, and does not change the numbers", () => {
  const s = asking();
  assert.equal(applyEvent(s, accessEvent), "applied");
  assert.equal(s.lastSeq, 2);
  assert.deepEqual([isReadOnly(s), s.session.owner], [true, OWNER]);
});

test("requests in another editor's session are for that editor's user", () => {
  const s = asking();
  assert.deepEqual([pendingApprovals(s).length, openQuestion(s)?.id, findActivity(s)], [1, "q1", "waiting"]);
  applyEvent(s, readOnly);
  assert.deepEqual([pendingApprovals(s), openQuestion(s), findActivity(s)], [[], undefined, "idle"]);
  assert.deepEqual([...s.touched].sort(), [0, 1, 2]);
  applyEvent(s, { ...readOnly, data: { access: "owner" } });
  assert.deepEqual([pendingApprovals(s).length, openQuestion(s)?.id], [1, "q1"]);
  const said = s.items.flatMap((item) => (item.kind === "notice" ? [item.text] : []));
  assert.deepEqual(said, ["Read-only: owned by Neovim (process 4711 on ada).", "This window now owns the session."]);
});

test("the owner of a session is described as far as it is known", () => {
  assert.equal(describeOwner({ ...OWNER, program: "" }), "another editor (process 4711 on ada)");
  assert.match(describeOwner(null), /has ended/);
});

test("a session_end with another owner does not close the session", () => {
  const s = asking();
  foldAccess(s, { access: "readOnly" });
  applyEvent(s, recorded(3, "session_end", { state: "CLOSED", reason: "completed" }));
  assert.ok(!s.items.some((item) => item.kind === "notice" && item.text === "Session closed."));
});

test("a former owner is forgotten with the next subscription", () => {
  const s = asking();
  applyEvent(s, readOnly);
  applySubscription(s, { ...subscription("s1"), lastSeq: 2, session: sessionInfo("s1") });
  assert.deepEqual([isReadOnly(s), s.session.owner], [false, undefined]);
});

test("nothing is sent to another editor's session, and no draft is stored", async () => {
  const connection = new FakeConnection({
    "agent/subscribe": ({ sessionId }) => ({ ...subscription(sessionId), session: sessionInfo("s1", { access: "readOnly", owner: OWNER }) }),
  });
  const sessions = new Sessions(connection, { newKey: () => "k", folder: () => "file:///w", configuration: () => ({}), log: () => undefined });
  await sessions.open("s1");
  assert.equal(await sessions.submit([{ type: "text", text: "mine?" }]), false);
  sessions.keepDraft({ text: "mine?", attachments: [] }, "s1");
  assert.deepEqual(connection.methods(), ["agent/subscribe"]);
  const last = sessions.snapshot.items.at(-1);
  assert.ok(last?.kind === "notice" && last.text === "Not sent, because this session is owned by Neovim (process 4711 on ada)." && last.hint?.includes("Take Over"));
});

test("changes of another editor's session are refused with a message; reads are sent", async () => {
  const connection = new FakeConnection({
    "agent/subscribe": ({ sessionId }) => ({ ...subscription(sessionId), session: sessionInfo("s1", { access: "readOnly", owner: OWNER }) }),
    "agent/rules": () => ({ rules: [] }),
  });
  const sessions = new Sessions(connection, { newKey: () => "k", folder: () => "file:///w", configuration: () => ({}), log: () => undefined });
  await sessions.open("s1");
  await sessions.interrupt();
  await sessions.configure({ mode: "plan" });
  assert.ok(refuseIfReadOnly(sessions, "agent/approve", "answered"));
  assert.deepEqual(await sessions.requestForCurrent("agent/rules", ({ sessionId }) => ({ sessionId })), { rules: [] });
  assert.deepEqual(connection.methods(), ["agent/subscribe", "agent/rules"]);
  const said = sessions.snapshot.items.flatMap((item) => (item.kind === "notice" ? [item.text] : []));
  const words = "this session is owned by Neovim (process 4711 on ada).";
  assert.deepEqual(said, [`Not done, because ${words}`, `Not done, because ${words}`, `Not answered, because ${words}`]);
});

test("a take-over names the session, and force only if confirmed", async () => {
  const connection = new FakeConnection({ "agent/takeOver": () => ({ session: sessionInfo("s1") }) });
  const library = new Library(connection, () => "k");
  await library.takeOver("s1", false);
  await library.takeOver("s1", true);
  assert.deepEqual(connection.asked.map(({ params }) => params), [{ sessionId: "s1", clientKey: "k" }, { sessionId: "s1", clientKey: "k", force: true }]);
});

test("the chat of another editor's session has no answers and no prompt, but a take-over button", () => {
  const s = asking();
  const page = new WebviewPage();
  const feed = page.show(s);
  const buttons = () => [...page.document.querySelectorAll(".approval button")].length;
  assert.ok(buttons() > 0);
  assert.equal(page.document.querySelector("[data-action=takeOver]"), null);

  applyEvent(s, readOnly);
  page.receive(feed.takeChanges(s));
  assert.equal(buttons(), 0);
  const text = page.document.body.textContent;
  assert.match(text, /The editor that owns this session decides\./);
  assert.match(text, /The editor that owns this session answers\./);
  assert.match(text, /read only/);
  assert.equal(page.prompt.disabled, true);
  assert.deepEqual([...page.document.querySelectorAll<HTMLSelectElement>("#composer select")].map(({ disabled }) => disabled), [true, true]);
  assert.ok(page.document.body.classList.contains("read-only"), "by which the style hides what only an owner may do");
  page.button("Take Over").click();
  assert.deepEqual(page.sent.at(-1), { type: "command", command: "takeOver" });

  applyEvent(s, { ...readOnly, data: { access: "owner" } });
  page.receive(feed.takeChanges(s));
  assert.ok(buttons() > 0);
  assert.equal(page.prompt.disabled, false);
  assert.ok(!page.document.body.classList.contains("read-only"));
  page.close();
});
