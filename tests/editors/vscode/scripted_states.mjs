// States of a conversation for scripted_server.mjs. A message with the name of a state starts it.

import { lookOf } from "./looks.mjs";
/** `wire` has the functions of the server that send events, and its `session` and `folder`. */
export function scriptedStates(wire) {
  const { tell, call, answerOf, delta, end, wait } = wire;
  /** Functions that end a pending request, as a server does when the turn is stopped. */
  const pending = [];
  let count = 0;
  const name = (prefix) => `${prefix}${(count += 1)}`;

  const hunk = (path, callId, state, lines) => ({
    id: name("h"), sessionId: "s1", turnId: wire.turnId(), callId, path: `${wire.folder()}/${path}`, uri: `file://${wire.folder()}/${path}`, what: "content", state, baseStart: 1, baseEnd: 2, start: 1, end: 2,
    baseLines: ["    return sum(prices)\n"], lines, link: "", laterTurns: [], looked: false,
  });

  /** An edit with its diff. Its hunk gets each of `states`, with one event for each. */
  function edit(path, states) {
    const callId = name("e");
    const [first, ...later] = states;
    const made = hunk(path, callId, first, ["    return max(sum(prices), 0)\n"]);
    tell("tool_call_start", { callId, index: 0, name: "edit_file", ...lookOf("edit_file"), arguments: JSON.stringify({ path }), summary: path });
    if (first === "proposed") {
      tell("hunk_state", { path: made.path, uri: made.uri, hunks: [made], by: "agent", comment: "" });
      pending.push(() => { tell("hunk_state", { path: made.path, uri: made.uri, hunks: [{ ...made, state: "gone" }], by: "agent", comment: "" }); });
      return;
    }
    tell("file_change", { callId, path: made.path, uri: made.uri, action: "modify", added: 1, removed: 1, diff: "--- a\n+++ b\n@@ -1,2 +1,2 @@\n def total(prices):\n-    return sum(prices)\n+    return max(sum(prices), 0)\n", hunks: [made], copyOf: "" });
    call(callId, "edit_file", { path }, path, "Replaced 1 place.", { summary: "1 replacement", isStarted: true });
    for (const state of later) tell("hunk_state", { path: made.path, uri: made.uri, hunks: [{ ...made, state }], by: "user", comment: "" });
  }

  function approve(tool, effect, reason, rules = []) {
    const requestId = name("request");
    pending.push(() => { tell("approval_resolved", { requestId, decision: "deny", scope: "once", decidedBy: "", reason: "The turn was stopped.", ruleId: "", clientKey: "", command: "" }); });
    tell("approval_requested", { requestId, callId: name("y"), tool, summary: tool, reason, effect, digest: "d", rules, agentId: "", cause: "mode" });
    wait();
  }

  function ask(question) {
    const questionId = name("q");
    pending.push(() => { tell("question_answered", { questionId, answers: [], declined: true, decidedBy: "", clientKey: "" }); });
    tell("question_asked", { callId: "", purpose: "question", ...question, questionId });
    wait();
  }

  const states = {
    /** The reasoning of the model, while it is streamed. */
    think() {
      const partId = name("r");
      tell("reasoning_start", { partId });
      delta("reasoning_delta", partId, 0, "The discount has to be taken before the tax. I look at the callers of `total` first, then at the tests of the cart.");
    },
    /** A retry of a request to the provider. */
    again: () => { tell("retry", { attempt: 2, delayMs: 20000, errorKind: "overloaded", message: "Anthropic is overloaded (HTTP 529)." }); },
    /** The connection is lost in the middle of an answer. */
    cut() {
      const partId = name("a");
      tell("assistant_text_start", { partId });
      tell("assistant_text_end", { partId, text: "The total is wrong because the discount is", interrupted: true, reasoning: "" });
      tell("error", { message: "The connection to api.anthropic.com was lost in mid-answer.", errorKind: "network", hint: "What it had said is kept.", retryable: true, action: "continue" });
      end("error");
    },
    limit() {
      tell("warning", { message: "The price of this model is unknown, so its costs are not counted.", code: "price", action: "chooseModel" });
      tell("turn_limit", { limit: "rounds", count: 50, message: "The turn ended after 50 requests to the model." });
      end("limit");
    },
    question: () => { ask({ question: "What should happen to orders above the limit?", choices: ["Keep the limit", "Raise it to 500 for customers who pay by invoice"], multiple: false }); },
    extend: () => { ask({ question: "The session has used 500,000 tokens, its limit. Allow the same amount again and continue?", choices: ["Go on", "Stop here"], multiple: false, purpose: "limit" }); },
    several: () => { ask({ question: "Which of these should have tests?", choices: ["the discount", "the tax of a cart that was sent to another country", "rounding"], multiple: true }); },
    /** An edit that needs approval. */
    write: () => {
      const diff = "--- a/shop/cart.py\n+++ b/shop/cart.py\n@@ -1,2 +1,3 @@\n def total(prices):\n-    return sum(prices)\n+    # Orders above the limit have their discount before the tax, and nobody pays less than nothing.\n+    return max(sum(prices), 0)\n";
      approve("edit_file", { type: "WriteEffect", files: [{ path: `${wire.folder()}/shop/cart.py`, action: "modify", diff, changeKey: "k" }] }, "Mode Ask: edits need your OK.", [{ id: "r1", label: "Allow edits in this session", scope: "session", allows: ["shop/tax.py"], stillAsked: ["/etc/hosts"] }]);
    },
    page: () => { approve("fetch", { type: "FetchEffect", url: "https://example.org/rates?country=at", privateAddress: "" }, "Pages outside this machine are asked about."); },
    /** Changes that are kept, undone, edited by the user, and pending. */
    judged() {
      for (const [path, states] of [["shop/cart.py", ["pending", "kept"]], ["shop/tax.py", ["pending", "undone"]], ["shop/a_module_with_a_long_name_that_does_not_fit.py", ["pending"]]]) edit(path, states);
      answerOf(name("a"), "Three places are tidy.");
      end();
    },
    /** Changes in three files, none of them decided. */
    changed() {
      for (const path of ["shop/cart.py", "shop/tax.py", "shop/a_module_with_a_long_name_that_does_not_fit.py"]) edit(path, ["pending"]);
      answerOf(name("a"), "Nobody pays less than nothing now.");
      end();
    },
    /** A change of 2,000 lines, and the evidence of its turn. */
    huge() {
      const callId = name("e"), path = "shop/cart.py", whole = `${wire.folder()}/${path}`;
      const lines = Array.from({ length: 1000 }, (_, i) => `-price_${i} = ${i}\n+price_${i} = Price(${i})\n`).join("");
      tell("tool_call_start", { callId, index: 0, name: "edit_file", ...lookOf("edit_file"), arguments: JSON.stringify({ path }), summary: path });
      tell("file_change", { callId, path: whole, uri: `file://${whole}`, action: "modify", added: 1000, removed: 1000, diff: `--- a\n+++ b\n@@ -1,1000 +1,1000 @@\n${lines}`, hunks: [hunk(path, callId, "pending", ["price_0 = Price(0)\n"])], copyOf: "" });
      call(callId, "edit_file", { path }, path, "Replaced 1000 places.", { summary: "1000 replacements", isStarted: true });
      const check = { callId, command: "python -m pytest -q", result: "failed", exitCode: 1, changedFiles: 0 };
      tell("turn_facts", { text: "Since the last change: `python -m pytest -q` failed (exit 1). 2 new problems.", files: 1, checks: [check], otherCommands: 0, newProblems: 2, fixedProblems: 0 });
      end();
    },
    /** A proposed change that waits for a decision. */
    propose: () => {
      edit("shop/cart.py", ["proposed"]);
      wait();
    },
    /** Subagents, a compaction, and a rollback. */
    agents() {
      const agent = { callId: "", model: "small-1", workingDir: wire.folder(), agentKind: "explorer" };
      tell("subagent", { ...agent, agentId: "a1", status: "completed", task: "Find the callers of total", reason: "", output: "Two callers: cart.py and invoice.py.", turnsUsed: 3 });
      tell("subagent", { ...agent, agentId: "a2", status: "failed", task: "Measure the tests", reason: "limit", output: "", turnsUsed: 20 });
      tell("subagent", { ...agent, agentId: "a3", status: "running", task: "Read the documentation of the tax rules of every country that the shop sends to", reason: "", output: "", turnsUsed: 1 });
      const compaction = { compactionId: name("c"), trigger: "request", strategy: "summarize", tokensBefore: 150000, tokensAfter: 20000, removed: 40, kept: 6, clientKey: "" };
      tell("compaction", { ...compaction, status: "started", summary: "", message: "" });
      tell("compaction", { ...compaction, status: "done", summary: "The user wants the discount before the tax.", message: "Summed up 40 items: 150k tokens became 20k." });
      const steerId = name("st");
      pending.push(() => { tell("steering_removed", { steerId, clientKey: "" }); });
      tell("steering_queued", { steerId, text: "leave the invoices as they are", clientKey: "" });
    },
    reverted() {
      answerOf(name("a"), "This answer was rolled back.");
      const turns = [wire.turnId()];
      end();
      const files = ["restored", "conflict"].map((state, i) => ({ path: `${wire.folder()}/shop/part_${i}.py`, uri: `file://${wire.folder()}/shop/part_${i}.py`, action: "modify", state }));
      tell("reverted", { revertId: name("rev"), atTurnId: turns[0], conversation: true, turns, restoredTurns: [], files });
    },
    /** Scripts of all directions, wide letters, and words and paths that are longer than the chat is wide. */
    scripts() {
      const deep = `${"packages/of/the/shop/".repeat(5)}购物车总额.py`;
      answerOf(name("a"), `## 第一步 👩‍👩‍👧\n\nמחיר כולל של \`${deep}\`: ${"x".repeat(120)}\n\n| 情况 | السعر |\n| --- | --- |\n| 三个价格 🚀 | 0.30000000000000004 |\n`);
      call(name("k"), "read_file", { path: deep }, deep, "1\n2\n", { summary: "2 lines" });
      edit(deep, ["pending"]);
      end();
    },
    /** Forty calls, one of which failed. */
    calls() {
      for (let i = 0; i < 40; i++) {
        const tool = ["read_file", "grep", "shell", "list_dir"][i % 4];
        call(name("k"), tool, {}, `part ${i}`, "", { summary: i === 38 ? "exit 1: 3 failed, 12 passed" : `${i} lines`, isError: i === 38 });
      }
      end();
    },
    /** Two findings of a review. */
    findings() {
      for (const [severity, line, message] of [["error", 12, "Divides by zero when the list of prices is empty, and no caller looks at that before."], ["warning", 40, "Nothing uses this variable."]]) {
        call(name("k"), "report_finding", { file_path: "shop/cart.py", start_line: line, end_line: line, severity, message }, `${severity} shop/cart.py:${line}`, "Reported.");
      }
      end();
    },
    /** A place and servers that do not answer. */
    lost() {
      tell("warning", { message: "The MCP server slow is still starting. The model gets its tools when it runs; `agent-ls mcp test slow` shows what it waits for.", code: "mcp", action: "" });
      tell("error", { message: "The connection to build.example.org was lost (no answer for 45 s).", errorKind: "environment", hint: "Send a message to connect again.", retryable: true, action: "continue" });
      end("error");
    },
    /** A command that is longer than the chat is high. */
    long: () => { approve("shell", { type: "CommandEffect", command: `${"make build && ".repeat(90)}make deploy`, workingDir: wire.folder(), envVars: [], background: false }, ""); },
    /** An answer in mode plan is a plan to accept. */
    plan() {
      answerOf(name("a"), "1. Take the discount before the tax.\n2. Test orders above the limit.");
      end();
    },
    /** Another editor has taken the session over. */
    taken() {
      end();
      wire.send({ method: "agent/event", params: { sessionId: "s1", kind: "access", timestamp: wire.now, data: { access: "readOnly", owner: { pid: 4711, host: "desk", program: "Neovim" } } } });
    },
  };
  return {
    /** Starts the state with this name; returns false if there is none. */
    start(name) {
      if (!Object.hasOwn(states, name)) return false;
      states[name]();
      return true;
    },
    /** Registers a function that ends a pending request when the turn is stopped. */
    pending(close) { pending.push(close); },
    stop() { for (const close of pending.splice(0)) close(); },
  };
}
