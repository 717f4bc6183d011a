// req: H9
import assert from "node:assert/strict";
import { test } from "node:test";
import { folds } from "../../folds";
import { EVENT_METHOD, problemOf } from "../../protocol";
import type { Requests } from "../../requests";
import { UNSPOKEN, examples, golden, sessionEvents } from "../support/golden";

// Each request that we make; the type fails when requests.ts knows one that is not here.
const SPOKEN: { [M in keyof Requests]: true } = {
  "agent/newSession": true, "agent/sessions": true, "agent/subscribe": true, "agent/unsubscribe": true,
  "agent/submit": true, "agent/unsteer": true, "agent/followUp": true, "agent/interrupt": true, "agent/abort": true, "agent/takeOver": true,
  "agent/configure": true, "agent/approve": true, "agent/review": true, "agent/terminals": true,
  "agent/terminalKill": true, "agent/terminalInput": true, "agent/terminalResize": true, "agent/clientAnswer": true, 
  "agent/terminalOutput": true, "agent/fork": true,
  "agent/rename": true, "agent/closeSession": true, "agent/deleteSession": true, "agent/export": true,
  "agent/setCredential": true, "agent/history": true, "agent/queue": true, "agent/models": true,
  "agent/commands": true, "agent/complete": true, "agent/revert": true, "agent/answer": true, "agent/compact": true,
  "agent/rules": true, "agent/removeRule": true,
};

// Spoken here before every server offers them: such a server answers with "unknown method", and we do without.
const NEWER = new Set([
  "agent/terminalOutput", "agent/fork", "agent/rename", "agent/closeSession", "agent/deleteSession", "agent/export", "agent/setCredential",
  "agent/history", "agent/queue", "agent/models", "agent/commands", "agent/complete", "agent/compact",
]);

test("every method of the golden examples is spoken here, or left out on purpose", () => {
  const known = new Set([...Object.keys(SPOKEN), ...UNSPOKEN, "agent/editorState", "agent/diagnostics", "agent/draft"]);
  assert.deepEqual(examples.map(({ method }) => method).filter((method) => !known.has(method)), []);
  const offered = new Set(examples.map(({ method }) => method));
  assert.deepEqual(Object.keys(SPOKEN).filter((method) => !offered.has(method) && !NEWER.has(method)), []);
});

test("every recorded kind of the golden session is folded", () => {
  const kinds = new Set(sessionEvents.filter((event) => event.seq !== undefined).map((event) => event.kind));
  assert.deepEqual([...kinds].filter((kind) => !Object.hasOwn(folds, kind)), []);
});

test("a client_request has the shape that the client answers", () => {
  const { event } = golden("client_request.json") as { event: { seq?: number; kind: string; data: Record<string, unknown> } };
  assert.deepEqual([event.seq, event.kind, event.data["requestId"], event.data["what"]], [undefined, "client_request", "cr1", "save"]);
  assert.deepEqual(event.data["params"], { documents: [{ uri: "file:///home/ada/shop/shop/cart.py", version: 7 }] });
  assert.equal(EVENT_METHOD, "agent/event");
});

test("an error becomes a sentence and what to do next", () => {
  const error = Object.assign(new Error("No such session."), { data: { kind: "unknown_session", hint: "Choose another." } });
  assert.deepEqual(problemOf(error), { message: "No such session.", hint: "Choose another.", kind: "unknown_session" });
  assert.deepEqual(problemOf("broken"), { message: "broken" });
  assert.deepEqual(problemOf({ message: "" }), { message: "The server gave an error without words." });
});
