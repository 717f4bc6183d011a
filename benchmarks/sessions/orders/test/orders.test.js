import assert from "node:assert/strict";
import { test } from "node:test";
import { open } from "../src/orders.js";

test("only open orders", () => {
  assert.deepEqual(open([{ id: 1, state: "open" }, { id: 2, state: "sent" }]).map(({ id }) => id), [1]);
});
