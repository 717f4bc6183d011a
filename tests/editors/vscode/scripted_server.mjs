// A server with scripted sessions, so that tests know the exact content of the chat and can make it as long as they need.
// Implements the protocol of docs/protocol/ over stdio. SCRIPT_ITEMS: number of history items. SCRIPT_STATE: a file for
// drafts.
import fs from "node:fs";
import { scriptedStates } from "./scripted_states.mjs";
import { lookOf } from "./looks.mjs";

const ITEMS = Number(process.env.SCRIPT_ITEMS ?? 0);
const STATE = process.env.SCRIPT_STATE;
const NOW = "2026-01-02T03:04:05.678Z";

function send(message) {
  const text = JSON.stringify({ jsonrpc: "2.0", ...message });
  process.stdout.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
}

const PARAGRAPH = "The discount was taken **before** the tax, so `total()` in [cart](shop/cart.py:12) was too small for orders above the limit. ";
const CODE = "\n\n```python\ndef total(prices, rate=0.2):\n    amount = sum(prices)\n    if amount > DISCOUNT_FROM:\n        amount *= 1 - DISCOUNT_RATE\n    return round(amount * (1 + rate), 2)\n```\n\n";

// Fields of the result of a call that ran no command, and whose output is complete.
const PLAIN = { outputRef: "", exitCode: null, modelChars: null, outputBytes: null, changes: [], index: 0, inputSummary: "" };

/** Returns item `i` of the history, which has turns of ten items. */
function item(i) {
  const turn = Math.floor(i / 10);
  const base = { id: `i${i + 1}`, seq: i + 1, turnId: `t${turn}`, timestamp: NOW };
  const file = { path: `/w/shop/part_${turn}.py`, uri: `file:///w/shop/part_${turn}.py`, action: "modify", added: 12, removed: 3 };
  const text = (words) => ({ ...base, kind: "text", partId: `p${i}`, text: words, interrupted: false });
  const tool = (name, summary, output) => ({
    ...base, kind: "tool", callId: `c${i}`, name, summary, arguments: JSON.stringify({ path: summary }), status: "done",
    result: { callId: `c${i}`, name, output, summary: `${output.split("\n").length} lines`, isError: false, errorKind: "", durationMs: 1200, outputChars: output.length, ...PLAIN },
  });
  switch (i % 10) {
    case 0: return { ...base, kind: "user", text: `Question ${turn}: why is the total of part ${turn} wrong?` };
    case 1: return { ...base, kind: "reasoning", partId: `p${i}`, text: PARAGRAPH.repeat(4), interrupted: false };
    case 2: return text(PARAGRAPH.repeat(2));
    case 3: return tool("read_file", `shop/part_${turn}.py`, "    line of code\n".repeat(200));
    case 4: return tool("grep", `total in part ${turn}`, "shop/cart.py:12: total\n".repeat(60));
    case 5: return text(`${PARAGRAPH}${CODE}- one\n- two\n- three\n`);
    case 6: return tool("edit_file", `shop/part_${turn}.py`, "Replaced 1 place.");
    case 7: return { ...base, ...file, kind: "file", callId: `c${i - 1}`, diff: `--- a\n+++ b\n@@ -1,9 +1,18 @@\n${"-old line\n".repeat(3)}${"+new line of code\n".repeat(12)}`, hunks: [], copyOf: "" };
    case 8: return tool("shell", "python -m pytest -q", "....\n".repeat(300));
    default: return { ...base, kind: "end", reason: "completed", files: [file] };
  }
}

const MODELS = {
  defaultProvider: "anthropic",
  defaultMode: "ask",
  providers: [
    { id: "anthropic", name: "Anthropic", hasKey: true, keyVariable: "ANTHROPIC_API_KEY" },
    { id: "openai", name: "OpenAI", hasKey: false, keyVariable: "OPENAI_API_KEY" },
  ],
  models: [
    { provider: "anthropic", id: "large-1", name: "Large 1", contextTokens: 200000, efforts: ["low", "medium", "high"], isDefault: true, inputPrice: 3, outputPrice: 15, images: true },
    { provider: "anthropic", id: "small-1", name: "Small 1", contextTokens: 200000, efforts: [], isDefault: false, inputPrice: 0.8, outputPrice: 4, images: true },
    { provider: "openai", id: "wide-5", name: "Wide 5", contextTokens: 1000000, efforts: ["low", "high"], isDefault: true, inputPrice: 2, outputPrice: 8, images: true },
  ],
};

const session = {
  id: "s1", title: "Fix the discount", state: "IDLE", provider: "anthropic", model: "large-1", effort: "medium", mode: "ask", review: "after",
  workspaceFolder: "", created: NOW, updated: NOW, lastSeq: 0, live: true, access: "owner", isWalkthrough: false, activity: "idle", queue: [], steering: [],
};
let seq = ITEMS;
let turn = 100000;
let queue = [];

function tell(kind, data) {
  send({ method: "agent/event", params: { sessionId: "s1", kind, timestamp: NOW, turnId: `t${turn}`, seq: ++seq, data } });
}

function delta(kind, partId, offset, text, name) {
  send({ method: "agent/event", params: { sessionId: "s1", kind, timestamp: NOW, turnId: `t${turn}`, after: seq, partId, offset, data: { text, ...(name && { name }) } } });
}

function tellQueue() {
  tell("queue", { items: queue.map((each) => ({ ...each, clientKey: "", images: 0 })) });
}

function begin(text) {
  turn += 1;
  tell("state", { state: "PROCESSING" });
  tell("user_input", { text, clientKey: "", queuedId: "" });
}

function end(reason = "completed") {
  tell("state", { state: "IDLE" });
  tell("processing_end", { reason });
}

const later = (ms) => new Promise((done) => setTimeout(done, ms));

/** Streams `count` deltas of an answer, as fast as a quick model does. */
async function stream(count) {
  const part = `stream-${seq}`;
  tell("assistant_text_start", { partId: part });
  const source = `## A long answer\n\n${PARAGRAPH.repeat(3)}${CODE}1. first\n2. second\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n`;
  let text = "";
  for (let i = 0; i < count; i++) {
    const piece = source.slice((i * 6) % source.length, ((i * 6) % source.length) + 6);
    delta("assistant_text_delta", part, text.length, piece);
    text += piece;
    if (i % 20 === 19) await later(4);
  }
  tell("assistant_text_end", { partId: part, text, interrupted: false, reasoning: "" });
}

const HOSTILE = [
  "<script>window.pwned = 1; top.pwned = 1</script>",
  "<img src=x onerror='window.pwned = 1'><svg onload='window.pwned = 1'><script>window.pwned = 1</script></svg>",
  "<iframe srcdoc='<script>parent.pwned = 1</script>'></iframe><details open ontoggle='window.pwned = 1'>x</details>",
  "[js](javascript:window.pwned=1) [JS](JaVaScRiPt:window.pwned=1) <javascript:window.pwned=1> [tab](java\tscript:window.pwned=1)",
  "[data](data:text/html,<script>window.pwned=1</script>) [svg](data:image/svg+xml;base64,PHN2Zy8+) [vs](command:workbench.action.quit) [host](//example.org/x) [unc](file://example.org/x)",
  "![picture](https://example.org/track.png) ![svg](data:image/svg+xml,<svg/onload=alert(1)>) [web](https://example.org/?leak=1)",
  "```\"><script>window.pwned = 1</script>\n</code><img src=x onerror=window.pwned=1>\n```",
  "```html\n<script>window.pwned = 1</script><img src=x onerror=window.pwned=1>\n```",
  "`<img src=x onerror=window.pwned=1>` &lt;script&gt; <a href='javascript:window.pwned=1'>a</a> <style>*{display:none}</style>",
].join("\n\n");

function answerOf(part, text) {
  tell("assistant_text_start", { partId: part });
  tell("assistant_text_end", { partId: part, text, interrupted: false, reasoning: "" });
}

function call(callId, name, args, summary, output, { isStarted = false, ...more } = {}) {
  if (!isStarted) tell("tool_call_start", { callId, index: 0, name, ...lookOf(name), arguments: JSON.stringify(args), summary });
  if (output !== undefined) tell("tool_call_end", { callId, name, output, summary: "", isError: false, errorKind: "", durationMs: 40, outputChars: output.length, ...PLAIN, ...more });
}

/** Shows one item of each kind; the last one waits for an answer. */
async function show() {
  const hunk = (id, state) => ({ id, sessionId: "s1", turnId: `t${turn}`, callId: "e1", path: `${folder}/shop/cart.py`, uri: `file://${folder}/shop/cart.py`, what: "content", state, baseStart: 1, baseEnd: 2, start: 1, end: 2, baseLines: ["x\n"], lines: ["y\n"], link: "", laterTurns: [], looked: false });
  tell("reasoning_start", { partId: "r1" });
  tell("reasoning_end", { partId: "r1", text: PARAGRAPH, interrupted: false });
  answerOf(`a${seq}`, `I read the cart first.${CODE}Then I change it:\n\n- the **limit** is checked\n- see [cart](shop/cart.py:3)\n`);
  tell("plan", { explanation: "", items: [{ text: "Read the cart", status: "done" }, { text: "Take the discount before the tax", status: "active" }, { text: "Run the tests", status: "pending" }] });
  call("k1", "read_file", { path: "shop/cart.py" }, "shop/cart.py", " 1 | def total():\n 2 |     return 1\n");
  tell("tool_call_start", { callId: "e1", index: 0, name: "edit_file", ...lookOf("edit_file"), arguments: "{\"path\": \"shop/cart.py\"}", summary: "shop/cart.py" });
  tell("file_change", { callId: "e1", path: `${folder}/shop/cart.py`, uri: `file://${folder}/shop/cart.py`, action: "modify", added: 2, removed: 1, diff: "--- a/shop/cart.py\n+++ b/shop/cart.py\n@@ -9,3 +9,4 @@\n     total = sum(prices)\n-    return total - discount\n+    total -= discount\n+    return max(total, 0)\n", hunks: [hunk("h1", "pending")], copyOf: "" });
  tell("tool_call_end", { callId: "e1", name: "edit_file", output: "Replaced 1 place.", summary: "1 replacement", isError: false, errorKind: "", durationMs: 5, outputChars: 17, ...PLAIN });
  call("x1", "shell", { command: "make lint" }, "make lint", "E501 line too long\n", { isError: true, summary: "exit 1", exitCode: 1 });
  tell("tool_call_start", { callId: "w1", index: 0, name: "shell", ...lookOf("shell"), arguments: "{\"command\": \"python -m pytest -q\"}", summary: "python -m pytest -q" });
  tell("terminal_open", { terminalId: "term1", callId: "w1", title: "python -m pytest -q", background: false });
  delta("tool_call_output_delta", "w1:out", 0, "tests/test_cart.py ...\ntests/test_tax.py ..", "stdout");
  tell("steering_queued", { steerId: `st${seq}`, text: "also run the linter", clientKey: "" });
  queue = [{ queuedId: "q1", text: "then write the changelog" }, { queuedId: "q2", text: "and bump the version" }];
  tellQueue();
  const tokens = { inputTokens: 48200, outputTokens: 3100, reasoningTokens: null, cacheReadTokens: 39000, cacheWriteTokens: null, reportedCostUsd: null };
  tell("usage", {
    call: tokens, total: tokens, contextTokens: 31000, contextWindowTokens: 200000, callCostUsd: 0.02, totalCostUsd: 0.1234,
    context: { system: 4000, tools: 9000, documents: 2000, history: 12000, toolOutput: 4000 }, calibration: 1, durationMs: 900, firstOutputMs: 200, estimated: false,
  });
  const requestId = `ask${turn}`;
  states.pending(() => { tell("approval_resolved", { requestId, decision: "deny", scope: "once", decidedBy: "", reason: "The turn was stopped.", ruleId: "", clientKey: "", command: "" }); });
  tell("approval_requested", { requestId, callId: `y${turn}`, tool: "shell", summary: "git commit -am fix", reason: "Commands are asked about in this mode.", effect: { type: "CommandEffect", command: "git commit -am 'Fix the discount'", workingDir: folder, envVars: [], background: false }, digest: "d", rules: [{ id: "r1", label: "Allow commands that start with git commit", scope: "session", allows: [], stillAsked: [] }], agentId: "", cause: "mode" });
  tell("state", { state: "AWAITING_INPUT" });
}

/** Shows a command that runs until it is stopped. */
function work() {
  call(`g${turn}`, "grep", { pattern: "def total", path: "shop" }, "def total in shop", "shop/cart.py:12\n", { summary: "1 match" });
  const callId = `l${turn}`;
  tell("tool_call_start", { callId, index: 0, name: "shell", ...lookOf("shell"), arguments: JSON.stringify({ command: "python -m pytest -q tests" }), summary: "python -m pytest -q tests" });
  tell("terminal_open", { terminalId: `term${turn}`, callId, title: "python -m pytest -q tests", background: false });
  delta("tool_call_output_delta", `${callId}:out`, 0, `${Array.from({ length: 9 }, (_, i) => `tests/test_part_${i}.py ${".".repeat(60 + i)}`).join("\n")}\n`, "stdout");
}

function fail() {
  tell("error", { message: "Anthropic rejected this key.", errorKind: "authentication", hint: "Enter a valid key.", retryable: false, action: "setKey" });
  end("error");
}

const TABLE = `### What was measured\n\n| File | Tests | Lines | Result |\n| --- | ---: | ---: | --- |\n| \`shop/_connection.py\` | 24/7 | 1200 | passed |\n| \`shop/cart.py\` | 3/4 | 85 | 1 failed |\n\n- [x] Read \`shop/cart.py\`\n- [ ] Fix [the total](shop/cart.py#L3-L9)\n\n\`\`\`diff\n-    return total - discount\n+    return max(total - discount, 0)\n\`\`\`\n${CODE}`;

let folder = "/w";
const states = scriptedStates({ send, tell, call, answerOf, delta, end, now: NOW, turnId: () => `t${turn}`, folder: () => folder, wait: () => { tell("state", { state: "AWAITING_INPUT" }); } });

async function act(text) {
  begin(text);
  if (states.start(text)) return;
  const [, what, count] = /\b(stream|hostile|show|work|fail|table)\b ?(\d*)/.exec(text) ?? [];
  if (what === "stream") {
    await stream(Number(count || 10000));
    answerOf(`a${seq}`, `Streamed ${count}.`);
  } else if (what === "hostile") answerOf(`a${seq}`, HOSTILE);
  else if (what === "table") answerOf(`a${seq}`, TABLE);
  else if (what === "show") return show();
  else if (what === "work") return work();
  else if (what === "fail") return fail();
  else answerOf(`a${seq}`, `You said: ${text}`);
  end();
}

const drafts = () => (STATE && fs.existsSync(STATE) ? JSON.parse(fs.readFileSync(STATE, "utf8")) : undefined);

const answers = {
  initialize: ({ workspaceFolders }) => {
    folder = workspaceFolders?.[0] ? new URL(workspaceFolders[0].uri).pathname : folder;
    session.workspaceFolder = `file://${folder}`;
    return { capabilities: { textDocumentSync: 1 } };
  },
  shutdown: () => null,
  "agent/newSession": () => ({ session }),
  "agent/sessions": () => ({ sessions: [session] }),
  "agent/subscribe": ({ since }) => {
    const newest = Array.from({ length: Math.min(200, ITEMS) }, (_, i) => item(ITEMS - 1 - i));
    const fresh = since < ITEMS;
    return { clientId: "c", session: { ...session, queue }, events: [], lastSeq: seq, openParts: [], pending: { approvals: [], questions: [], hunks: [] }, ...(fresh && { snapshot: { items: newest, more: ITEMS > 200 } }), draft: drafts() };
  },
  "agent/history": ({ before, limit }) => {
    const from = Math.max(0, before - 1 - limit);
    return { items: Array.from({ length: before - 1 - from }, (_, i) => item(before - 2 - i)), more: from > 0 };
  },
  "agent/submit": ({ input }) => {
    const text = input.map((part) => part.text ?? `[${part.type} ${part.name ?? part.uri ?? ""}]`).join(" ");
    setTimeout(() => void act(text), 0);
    return { turnId: `t${turn + 1}` };
  },
  "agent/queue": ({ edit, move, remove, startNow }) => {
    if (remove) queue = queue.filter((each) => each.queuedId !== remove);
    if (startNow) queue = queue.filter((each) => each.queuedId !== startNow);
    if (edit) queue = queue.map((each) => (each.queuedId === edit.queuedId ? { ...each, text: edit.input.at(-1).text } : each));
    if (move) {
      const moved = queue.find((each) => each.queuedId === move.queuedId);
      queue = queue.filter((each) => each !== moved);
      const at = queue.findIndex((each) => each.queuedId === move.before);
      queue.splice(at === -1 ? queue.length : at, 0, moved);
    }
    tellQueue();
    return {};
  },
  "agent/approve": ({ requestId, decision, reason, replacement }) => {
    tell("approval_resolved", { requestId, decision, scope: "once", decidedBy: "c", reason: reason ?? "", ruleId: "", clientKey: "", command: replacement?.command ?? "" });
    tell("state", { state: "PROCESSING" });
    if (replacement) answerOf(`a${seq}`, `You ran \`${replacement.command}\` instead.`);
    return { decision, decidedBy: "c" };
  },
  "agent/interrupt": () => {
    setTimeout(() => {
      states.stop();
      end("interrupted");
    }, 0);
    return {};
  },
  "agent/configure": (given) => {
    for (const name of ["provider", "model", "effort", "mode"]) if (given[name] !== undefined) session[name] = given[name];
    return { session, appliesFrom: "nextCall" };
  },
  "agent/models": () => MODELS,
  "agent/commands": () => ({ commands: [{ name: "explain", description: "Explain what is attached" }, { name: "fix", description: "Find and fix the cause", argumentHint: "what" }, { name: "compact", description: "Sum up the conversation" }] }),
  "agent/complete": ({ query }) => ({
    items: ["shop/cart.py", "shop/tax.py", "tests/test_cart.py", "README.md"].filter((name) => name.includes(query)).map((name) => ({ kind: "file", label: name, detail: "", part: { type: "file", uri: `file://${folder}/${name}` } })),
  }),
  "agent/terminals": () => ({ terminals: [] }),
  "agent/review": () => ({ changed: [], refused: [] }),
  "agent/unsubscribe": () => ({}),
};

function take({ id, method, params }) {
  if (method === "exit") process.exit(0);
  if (method === "agent/draft" && STATE) fs.writeFileSync(STATE, JSON.stringify({ text: params.text, attachments: params.attachments }));
  if (id === undefined || method === undefined) return;
  const answer = answers[method];
  if (answer) send({ id, result: answer(params ?? {}) });
  else send({ id, error: { code: -32601, message: `Unknown method ${method}` } });
}

let buffer = Buffer.alloc(0);
process.stdin.on("data", (chunk) => {
  buffer = Buffer.concat([buffer, chunk]);
  for (;;) {
    const at = buffer.indexOf("\r\n\r\n");
    if (at === -1) return;
    const length = Number(/Content-Length: (\d+)/i.exec(buffer.subarray(0, at).toString())[1]);
    if (buffer.length < at + 4 + length) return;
    const text = buffer.subarray(at + 4, at + 4 + length).toString();
    buffer = buffer.subarray(at + 4 + length);
    take(JSON.parse(text));
  }
});
