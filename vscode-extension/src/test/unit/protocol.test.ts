// req: H9
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { folds } from "../../snapshot/folds";
import { EVENT_METHOD, problemOf } from "../../connection/protocol";
import { UNUSED_METHODS, golden, sessionEvents } from "../support/golden";

const TYPES = join("src", "wire");

function* sources(folder = "src"): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && path !== TYPES && entry.name !== "test") yield* sources(path);
    else if (entry.isFile() && path.endsWith(".ts")) yield readFileSync(path, "utf8");
  }
}

test("every method of the server is implemented here or excluded on purpose", () => {
  const all = [...sources()].join("\n");
  const methods = Object.keys((golden("schema.json") as { methods: object }).methods);
  assert.ok(methods.length > 30);
  assert.deepEqual(methods.filter((method) => !all.includes(`"${method}"`)).sort(), [...UNUSED_METHODS].sort());
});

test("every recorded event kind of the golden session is reduced", () => {
  const kinds = new Set(sessionEvents.filter((event) => event.seq !== undefined).map((event) => event.kind));
  assert.deepEqual([...kinds].filter((kind) => !Object.hasOwn(folds, kind)), []);
});

test("a client_request has the shape that the client answers", () => {
  const { event } = golden("client_request.json") as { event: { seq?: number; kind: string; data: Record<string, unknown> } };
  assert.deepEqual([event.seq, event.kind, event.data["requestId"], event.data["what"]], [undefined, "client_request", "cr1", "save"]);
  assert.deepEqual(event.data["params"], { documents: [{ uri: "file:///home/ada/shop/shop/cart.py", version: 7 }] });
  assert.equal(EVENT_METHOD, "agent/event");
});

test("an error becomes a message and a hint", () => {
  const error = Object.assign(new Error("No such session."), { data: { kind: "unknown_session", hint: "Choose another." } });
  assert.deepEqual(problemOf(error), { message: "No such session.", hint: "Choose another.", kind: "unknown_session" });
  assert.deepEqual(problemOf("broken"), { message: "broken" });
  assert.deepEqual(problemOf({ message: "" }), { message: "The server returned an error without a message." });
});
