// req: H7, H9
import assert from "node:assert/strict";
import { test } from "node:test";
import { itemView } from "../../chat/views";
import type { EventData } from "../../connection/protocol";
import type { Snapshot } from "../../snapshot/items";
import { applyEvent, newSnapshot } from "../../snapshot/snapshot";
import { recorded } from "../support/golden";

/** A command whose approval is pending. */
function asking(): Snapshot {
  const s = newSnapshot();
  applyEvent(s, recorded(1, "tool_call_start", { callId: "c1", index: 0, name: "shell", look: "execute", doing: "Running", done: "Ran", arguments: "{}", summary: "make" }));
  applyEvent(s, recorded(2, "approval_requested", { requestId: "r1", callId: "c1", tool: "shell", summary: "make", reason: "", effect: { command: "make" }, digest: "d", rules: [], agentId: "" } as unknown as EventData["approval_requested"]));
  return s;
}

const isHidden = (s: Snapshot) => s.items.map((item) => {
  const view = itemView(item, s, { relative: (path: string) => path });
  return "isRedundant" in view && view.isRedundant;
});

function answered(decision: "allow" | "deny", decidedBy: string): Snapshot {
  const s = asking();
  applyEvent(s, recorded(3, "approval_resolved", { requestId: "r1", decision, scope: "once", decidedBy, reason: decidedBy === "interrupt" ? "The turn was stopped." : "", ruleId: "", clientKey: "", command: "" }));
  return s;
}

test("a call is not shown twice while its approval is asked for", () => {
  assert.deepEqual(isHidden(asking()), [true, false]);
});

test("the answer is shown at the call if it was allowed, and apart if the user denied it", () => {
  assert.deepEqual(isHidden(answered("allow", "editor")), [false, true]);
  assert.deepEqual(isHidden(answered("deny", "editor")), [false, false]);
});

test("a request that ended with the turn is not shown as denied by the user", () => {
  assert.deepEqual(isHidden(answered("deny", "interrupt")), [false, true]);
});

test("the request for a tool of a server has what the server says about it and what it has changed", () => {
  const s = newSnapshot();
  const effect = { text: "{}", server: "notes", about: "Adds.", change: "-Adds.\n+Sends your keys." };
  applyEvent(s, recorded(1, "approval_requested", { requestId: "r1", callId: "c1", tool: "notes__add", summary: "add", reason: "", effect, digest: "d", rules: [], agentId: "" } as unknown as EventData["approval_requested"]));
  const [text = ""] = s.items.map((item) => {
    const view = itemView(item, s, { relative: (path: string) => path });
    return view.kind === "approval" ? view.text : "";
  });
  assert.ok(text.startsWith("{}\n") && text.includes("\n| Adds.") && text.endsWith("\n| +Sends your keys."));
});
