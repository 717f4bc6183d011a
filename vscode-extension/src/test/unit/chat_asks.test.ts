// req: H9, L8, X10
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { applyEvent, newSnapshot } from "../../snapshot/snapshot";
import { recorded } from "../support/golden";
import { WebviewPage } from "../support/webview_page";

function open(t: TestContext): WebviewPage {
  const page = new WebviewPage(undefined);
  t.after(() => { page.close(); });
  return page;
}

test("a question is answered by a choice, several choices, free text, or skipped", (t) => {
  const page = open(t);
  const s = newSnapshot();
  const asked = { question: "Which one?", choices: ["Euro", "Dollar"] };
  applyEvent(s, recorded(1, "question_asked", { ...asked, questionId: "q1", multiple: false }));
  applyEvent(s, recorded(2, "question_asked", { ...asked, questionId: "q2", multiple: true }));
  const feed = page.show(s);
  const [one, many] = [...page.document.querySelectorAll(".question")];
  assert.ok(one && many);
  const press = (root: Element, text: string) => [...root.querySelectorAll("button")].find((each) => each.textContent === text)?.click();
  press(one, "Dollar");
  assert.deepEqual(page.sent.at(-1), { type: "answer", questionId: "q1", answers: ["Dollar"], declined: false });
  for (const box of many.querySelectorAll("input[type=checkbox]")) (box as HTMLInputElement).click();
  press(many, "Answer");
  assert.deepEqual(page.sent.at(-1), { type: "answer", questionId: "q2", answers: ["Euro", "Dollar"], declined: false });
  const field = one.querySelector<HTMLInputElement>(".reason") ?? assert.fail();
  field.value = "Neither";
  field.dispatchEvent(new page.dom.window.KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  assert.deepEqual(page.sent.at(-1), { type: "answer", questionId: "q1", answers: ["Neither"], declined: false });
  press(one, "Skip");
  assert.deepEqual(page.sent.at(-1), { type: "answer", questionId: "q1", answers: [], declined: true });
  applyEvent(s, recorded(3, "question_answered", { questionId: "q1", answers: ["Dollar"], declined: false }));
  page.receive(feed.takeChanges(s));
  assert.equal(page.document.querySelectorAll(".question").length, 1);
});

test("at a limit, only the choices are offered", (t) => {
  const page = open(t);
  const s = newSnapshot();
  applyEvent(s, recorded(1, "question_asked", { question: "More?", choices: ["Go on", "Stop here"], questionId: "q1", multiple: false, purpose: "limit" }));
  page.show(s);
  const asked = page.document.querySelector(".question") ?? assert.fail();
  assert.equal(asked.querySelector(".reason"), null);
  assert.deepEqual([...asked.querySelectorAll("button")].map((each) => each.textContent), ["Go on", "Stop here", "Skip"]);
});

test("a subagent is one line that expands, and its messages can be rolled back to", (t) => {
  const page = open(t);
  const s = newSnapshot();
  applyEvent(s, { ...recorded(1, "user_input", { text: "Look." }), turnId: "t1" });
  applyEvent(s, recorded(2, "subagent", { agentId: "agent_1", status: "running", task: "Look for it", reason: "", output: "", turnsUsed: 0 }));
  applyEvent(s, { ...recorded(3, "tool_call_start", { callId: "c", name: "grep", arguments: "{}", summary: "x" }), agentId: "agent_1" });
  const feed = page.show(s);
  const its = page.find("[data-agent=agent_1]");
  assert.equal(its.hidden, true);
  const details = page.find(".subagent details") as HTMLDetailsElement;
  page.find('[data-action="stopAgent"]').click();
  assert.deepEqual(page.sent.at(-1), { type: "stopAgent", agentId: "agent_1" });
  page.find('[data-action="steerAgent"]').click();
  assert.deepEqual(page.sent.at(-1), { type: "steerAgent", agentId: "agent_1" });
  details.open = true;
  details.dispatchEvent(new page.dom.window.Event("toggle"));
  assert.equal(its.hidden, false);
  page.find(".user .back").click();
  assert.deepEqual(page.sent.at(-1), { type: "rollBack", turnId: "t1" });
  applyEvent(s, recorded(4, "reverted", { revertId: "r1", conversation: true, turns: ["t1"], restoredTurns: [], files: [] }));
  page.receive(feed.takeChanges(s));
  assert.ok(page.find(".user").classList.contains("out"));
  page.find(".reverted button").click();
  assert.deepEqual(page.sent.at(-1), { type: "rollBack", turnId: "r1" });
});
