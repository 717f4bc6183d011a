// req: H9
import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { findInstalled, isCompatible } from "../../server/installed";

let folder: string;

beforeEach(() => { folder = mkdtempSync(join(tmpdir(), "agent-ls-")); });
afterEach(() => { rmSync(folder, { recursive: true }); });

function program(script: string): string {
  const path = join(folder, "agent-ls");
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

test("an installed server is found with its version", async () => {
  const path = program("echo agent-ls 1.2.3");
  assert.deepEqual(await findInstalled(folder), { program: path, version: "1.2.3" });
});

test("a program of that name that fails, or is something else, is not offered", async () => {
  program("echo agent-ls 1.2.3; exit 1");
  assert.equal(await findInstalled(folder), undefined);
  program("echo something else");
  assert.equal(await findInstalled(folder), undefined);
  rmSync(join(folder, "agent-ls"));
  assert.equal(await findInstalled(folder), undefined);
});

test("only a server of the same minor version replaces the bundled one", () => {
  assert.ok(isCompatible("1.2.9", "1.2.0-abc"));
  assert.ok(!isCompatible("1.3.0", "1.2.0-abc"));
  assert.ok(!isCompatible("2.2.0", "1.2.0-abc"));
});
