// req: H9
import assert from "node:assert/strict";
import { test } from "node:test";
import { applyEvent, newSnapshot } from "../../snapshot/snapshot";
import { recorded } from "../support/golden";
import { WebviewPage } from "../support/webview_page";

const END = { output: "", summary: "", errorKind: "", durationMs: 1, outputChars: 0, outputRef: "", exitCode: null, modelChars: null };

for (const [name, isError, words] of [
  ["read_file", false, "Read"],
  ["shell", true, "Ran"],
  ["edit_file", true, "Editing"],
  ["deploy", false, "deploy"],
] as const) {
  test(`a row of a tool call describes it for users: ${name} ${isError ? "failed" : "done"}`, (t) => {
    const s = newSnapshot();
    applyEvent(s, recorded(1, "tool_call_start", { callId: "c", index: 0, name, arguments: "{}", summary: "a.py" }));
    applyEvent(s, recorded(2, "tool_call_end", { ...END, callId: "c", name, isError }));
    const page = new WebviewPage();
    t.after(() => { page.close(); });
    page.show(s);
    assert.equal(page.find(".tool .verb").textContent, words);
    assert.equal(page.find(".tool .verb").title, name, "the name itself is a pointer away");
  });
}
