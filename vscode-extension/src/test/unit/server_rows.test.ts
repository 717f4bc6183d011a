// The list of MCP servers: the text of a row, and the actions for a server in each state.
// req: T11
import * as assert from "node:assert/strict";
import { test } from "node:test";
import type { McpServerInfo } from "../../connection/protocol";
import { serverRow, switchesOf } from "../../sessions/server_rows";

const SERVER: McpServerInfo = {
  name: "db", state: "running", source: "user", target: "npx db", title: "", era: "legacy", tools: ["query"], prompts: ["a", "b"], resources: 0,
};

test("a row of an MCP server has its state, its tools and prompts, and its command", () => {
  assert.deepEqual(serverRow(SERVER), { label: "$(pass-filled) db", description: "running · 1 tool · 2 prompts · user", detail: "npx db" });
});

test("a row of a failed server has the error instead of its command", () => {
  const { label, description, detail } = serverRow({ ...SERVER, state: "failed", tools: [], prompts: [], error: "it has ended" });
  assert.deepEqual([label, description, detail], ["$(error) db", "failed · user", "it has ended"]);
});

test("only a server that is to run is switched off or started again", () => {
  for (const state of ["off", "denied", "unapproved", "stopped"] as const) assert.deepEqual(switchesOf({ ...SERVER, state }), ["on"]);
  for (const state of ["starting", "running", "restarting", "login", "failed"] as const) assert.deepEqual(switchesOf({ ...SERVER, state }), ["restart", "off"]);
});
