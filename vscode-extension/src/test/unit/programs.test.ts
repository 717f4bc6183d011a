// req: H9, H17
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { cleanEnvironment, findExecutable, findOnPath, run } from "../../server/programs";
import { findPython, isNewEnough } from "../../server/python";
import { withoutSecrets } from "../../connection/redact";

let folder: string;

beforeEach(() => { folder = mkdtempSync(join(tmpdir(), "agent-ls-")); });
afterEach(() => { rmSync(folder, { recursive: true }); });

function script(name: string, body: string): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

test("a program is searched only in absolute folders of PATH", () => {
  const tool = script("tool", "exit 0");
  assert.equal(findOnPath("tool", ["relative", ".", "", folder].join(delimiter)), tool);
  assert.equal(findOnPath("tool", ["relative", ".", ""].join(delimiter)), undefined);
});

test("a folder or a non-executable file is not a program", () => {
  mkdirSync(join(folder, "sub"));
  writeFileSync(join(folder, "plain"), "");
  assert.equal(findExecutable(join(folder, "sub")), undefined);
  assert.equal(findExecutable(join(folder, "plain")), undefined);
});

test("both streams of a program are returned line by line, and its exit code", async () => {
  const lines: string[] = [];
  const { code, output } = await run(script("says", "echo one; echo two >&2; exit 3"), [], { onLine: (line) => lines.push(line) });
  assert.equal(code, 3);
  assert.deepEqual(lines.sort(), ["one", "two"]);
  assert.match(output, /one/);
});

test("a missing program is an outcome, not an exception", async () => {
  const { code, output } = await run(join(folder, "missing"), []);
  assert.equal(code, null);
  assert.match(output, /ENOENT/);
});

test("variables that redirect package downloads are removed, those of the index are kept", () => {
  const kept = cleanEnvironment({ PIP_TARGET: "/x", PYTHONPATH: "/y", PIP_INDEX_URL: "https://index.example", PATH: "/bin" });
  assert.deepEqual(kept, { PIP_INDEX_URL: "https://index.example", PATH: "/bin" });
});

test("Python 3.11 is new enough, 3.9 and 2.7 are not", () => {
  assert.deepEqual(["3.11.0", "3.14.1", "4.0", "3.9.18", "3.10.2", "2.7.18"].map(isNewEnough), [true, true, true, false, false, false]);
});

test("a Python that is too old is named, with a hint", async () => {
  const old = script("python3", "echo 3.9.2");
  const found = await findPython(old);
  assert.ok("message" in found);
  assert.equal(found.message, `agent-ls needs Python 3.11 or newer: ${old} is 3.9.2.`);
  assert.match(found.hint ?? "", /agentLs\.python/);
});

test("a Python that does not run is reported", async () => {
  const found = await findPython(join(folder, "python3"));
  assert.ok("message" in found && found.message.includes("does not run"));
});

test("the Python of the setting is used", async () => {
  const program = script("mine", "echo 3.12.1");
  assert.deepEqual(await findPython(program), { program, version: "3.12.1" });
});

test("a trace of the connection contains no key", () => {
  const text = 'Params: {\n    "provider": "openai",\n    "secret": "sk-\\"quoted\\" and more",\n    "clientKey": "1"\n}';
  assert.equal(withoutSecrets(text), 'Params: {\n    "provider": "openai",\n    "secret": "…",\n    "clientKey": "1"\n}');
});
