// req: H7, H17
import assert from "node:assert/strict";
import { test } from "node:test";
import { describeRequest, listChoices, formatExamples, formatQuestion, listChoicesBelowLine } from "../../approvals/choices";
import type { ApprovalRequested } from "../../connection/protocol";
import { eventOf } from "../support/golden";

const ASKED = eventOf("approval_requested").data as ApprovalRequested;

function command(text: string, more: object = {}): ApprovalRequested {
  return { ...ASKED, summary: "the summary", effect: { type: "CommandEffect", command: text, workingDir: "/w", envVars: [], background: false, ...more } };
}

test("every offered rule is an answer with its id and duration", () => {
  const alone = { allows: [], stillAsked: [] };
  const rules = [
    { id: "r1", label: "Allow this for this turn", scope: "turn", ...alone },
    { id: "r2", label: "Always allow npm test", scope: "project", ...alone },
  ] as const;
  const choices = listChoices({ ...command("npm test"), rules });
  assert.deepEqual(choices.map(({ label }) => label), [
    "Allow Once", "Allow this for this turn", "Always allow npm test", "Run Another Command Instead…", "Deny", "Deny with a Reason…", "Show in Chat",
  ]);
  assert.deepEqual(choices.flatMap((choice) => (choice.kind === "send" ? [choice.answer] : [])), [
    { decision: "allow", scope: "once" },
    { decision: "allow", scope: "turn", ruleId: "r1" },
    { decision: "allow", scope: "project", ruleId: "r2" },
    { decision: "deny" },
  ]);
  assert.equal(choices[2]?.detail, "Applies to this folder, also in later sessions");
});

test("what is longer than a line, or than its box in the chat, is not allowed from a list below one line", () => {
  const write = (lines: number): ApprovalRequested => ({ ...ASKED, effect: { type: "WriteEffect", files: [{ path: "/a", action: "create", diff: "+x\n".repeat(lines), changeKey: "k" }] } });
  const rules = [{ id: "r", label: "Allow make", scope: "session", allows: [], stillAsked: [] }] as const;
  for (const [asked, labels] of [
    [command("make"), ["Allow Once", "Allow make", "Run Another Command Instead…", "Deny", "Deny with a Reason…", "Show in Chat"]],
    [command(`${"make && ".repeat(30)}rm -r b`), ["Show in Chat", "Run Another Command Instead…", "Deny", "Deny with a Reason…"]],
    [write(12), ["Allow Once", "Allow make", "Deny", "Deny with a Reason…", "Show in Chat"]],
    [write(900), ["Show in Chat", "Deny", "Deny with a Reason…"]],
    [command("make\nrm -r b", { inputOf: "p1" }), ["Show in Chat", "Deny", "Deny with a Reason…"]],
  ] as const) assert.deepEqual(listChoicesBelowLine({ ...asked, rules }).map(({ label }) => label), labels);
});

test("a folder is trusted or not: no allow once, and no reason", () => {
  const asked: ApprovalRequested = { ...ASKED, rules: [], effect: { type: "TrustEffect", folder: "/home/ada/shop", owner: "1000" } };
  const choices = listChoices(asked);
  assert.deepEqual(choices.map(({ label }) => label), ["Trust This Folder", "Do Not Trust It", "Show in Chat"]);
  assert.deepEqual(choices.flatMap((choice) => (choice.kind === "send" ? [choice.answer.decision] : [])), ["allow", "deny"]);
  assert.deepEqual(formatQuestion(asked), { text: "agent-ls asks whether you trust /home/ada/shop", isWhole: false });
});

test("a rule lists other commands that it would allow, and those that still need approval", () => {
  const rule = { id: "r", label: "Allow `npm test …`", scope: "session", allows: ["npm test --verbose"], stillAsked: ["npm publish", "npm test > /etc/out"] } as const;
  const [, choice] = listChoices({ ...command("npm test"), rules: [rule] });
  assert.equal(choice?.detail, "Applies to this session. Also allows: npm test --verbose. Still needs approval: npm publish · npm test > /etc/out");
  assert.deepEqual(formatExamples({ allows: [], stillAsked: [] }), []);
});

test("only a command can be replaced by another", () => {
  const choices = listChoices({ ...ASKED, effect: { type: "WriteEffect", files: [{ path: "/a", action: "modify", diff: "", changeKey: "k" }] } });
  assert.equal(choices.some(({ kind }) => kind === "edit"), false);
});

test("typing into a process has its own approval and cannot be replaced", () => {
  const typed = command("yes\n", { inputOf: "p1" });
  assert.deepEqual(formatQuestion(typed), { text: "agent-ls asks to type into process p1: yes", isWhole: true });
  assert.equal(formatQuestion(command("a\nb\n", { inputOf: "p1" })).isWhole, false);
  assert.equal(listChoices(typed).some(({ kind }) => kind === "edit"), false);
});

test("a one-line approval is offered only if it shows the whole effect", () => {
  assert.deepEqual(formatQuestion(command("npm test")), { text: "agent-ls asks to run: npm test", isWhole: true });
  assert.deepEqual(formatQuestion(command("a\nb")), { text: "agent-ls asks to run: the summary", isWhole: false });
  assert.equal(formatQuestion(command("x".repeat(121))).isWhole, false);
  assert.equal(formatQuestion(command("npm test", { envVars: [["CI", "1"]] })).isWhole, false);
  assert.equal(formatQuestion(command("npm start", { background: true })).text, "agent-ls asks to run in the background: npm start");
  assert.equal(formatQuestion(command("npm start", { outsideSandbox: true })).text, "agent-ls asks to run outside the sandbox: npm start");
  assert.equal(formatQuestion({ ...ASKED, tool: "edit", summary: "a.py", effect: { type: "WriteEffect", files: [{ path: "/a.py", action: "modify", diff: "", changeKey: "k" }] } }).isWhole, false);
  const page = { ...ASKED, tool: "web_fetch", summary: "the summary" };
  assert.deepEqual(formatQuestion({ ...page, effect: { type: "FetchEffect", url: "https://a.example/b", privateAddress: "" } }), { text: "agent-ls asks to fetch https://a.example/b", isWhole: true });
  assert.deepEqual(formatQuestion({ ...page, effect: { type: "FetchEffect", url: `https://a.example/${"b".repeat(121)}`, privateAddress: "" } }), { text: "agent-ls asks to fetch the summary", isWhole: false });
});

test("hidden characters of a command or a diff are visible signs", () => {
  assert.equal(formatQuestion(command("rm \u202ea")).text, "agent-ls asks to run: rm \ufffda");
  assert.equal(describeRequest(command("ls\u2066\nrm")).blocks[0]?.code, "ls\ufffd\nrm");
  const effect = { type: "WriteEffect" as const, files: [{ path: "/a\u202e.py", action: "modify" as const, diff: "+\u202eb\n", changeKey: "k" }] };
  assert.deepEqual(describeRequest({ ...ASKED, tool: "edit", summary: "a.py", effect }).blocks, [{ title: "modify /a\ufffd.py", language: "diff", code: "+\ufffdb\n" }]);
});

test("the golden approval is parsed", () => {
  assert.equal(listChoices(ASKED).filter((choice) => choice.kind === "send" && choice.answer.ruleId !== undefined).length, ASKED.rules.length);
  assert.match(formatQuestion(ASKED).text, /^agent-ls asks to /);
});

test("a description of a request has the command with its variables, or a diff of each file", () => {
  assert.deepEqual(describeRequest(command("a\nb", { envVars: [["CI", "1"]] })), {
    text: "agent-ls asks to run: the summary", blocks: [{ title: "", language: "shellscript", code: "CI=1\na\nb" }], isWhole: true,
  });
  const files = (...diffs: string[]) => ({ ...ASKED, tool: "edit", summary: "a.py", effect: { type: "WriteEffect" as const, files: diffs.map((diff) => ({ path: "/a.py", action: "modify" as const, diff, changeKey: "k" })) } });
  assert.deepEqual(describeRequest(files("-a\n+b\n")), { text: "agent-ls asks to edit: a.py", blocks: [{ title: "modify /a.py", language: "diff", code: "-a\n+b\n" }], isWhole: true });
  assert.equal(describeRequest(files("-a\n+b\n", "")).isWhole, false, "a file without a diff is not displayed");
  assert.equal(describeRequest(files()).isWhole, false);
});
