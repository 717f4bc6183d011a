// req: H9
import assert from "node:assert/strict";
import { test } from "node:test";
import { applyEvent, newSnapshot } from "../../snapshot/snapshot";
import { LOOKS, recorded } from "../support/golden";
import { WebviewPage } from "../support/webview_page";

const END = { output: "", summary: "", errorKind: "", durationMs: 1, outputChars: 0, outputRef: "", exitCode: null, modelChars: null };

for (const [name, isError, words, look] of [
  ["read_file", false, "Read", LOOKS.read_file],
  ["shell", true, "Ran", LOOKS.shell],
  ["edit_file", true, "Editing", LOOKS.edit_file],
  ["deploy", false, "deploy", {}],
] as const) {
  test(`a row of a tool call describes it for users: ${name} ${isError ? "failed" : "done"}`, (t) => {
    const s = newSnapshot();
    applyEvent(s, recorded(1, "tool_call_start", { callId: "c", index: 0, name, arguments: "{}", summary: "a.py", ...look }));
    applyEvent(s, recorded(2, "tool_call_end", { ...END, callId: "c", name, isError }));
    const page = new WebviewPage();
    t.after(() => { page.close(); });
    page.show(s);
    assert.equal(page.find(".tool .verb").textContent, words);
    assert.equal(page.find(".tool .verb").title, name, "the name itself is a pointer away");
  });
}
