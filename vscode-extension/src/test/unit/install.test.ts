// req: H9, H17
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { findBundle } from "../../server/bundle";
import { type Steps, deleteUnusedEnvironments, install, findEnvironment, interpreterPath } from "../../server/install";
import type { Outcome } from "../../server/programs";

const DAY_MS = 24 * 3_600_000;
const BUNDLE = { wheel: "agent_ls-1.2.0-py3-none-any.whl", requirements: "requirements.txt", stamp: "1.2.0-abc" };
const PYTHON = { program: "python3", version: "3.12.4" };
let storage: string;

beforeEach(() => { storage = mkdtempSync(join(tmpdir(), "agent-ls-")); });
afterEach(() => { rmSync(storage, { recursive: true }); });

/** Fake programs that succeed, except the one whose arguments contain `failing`. */
function steps(failing = "nothing", output = "", signal?: AbortSignal): Steps & { readonly ran: string[]; readonly said: string[] } {
  const ran: string[] = [], said: string[] = [];
  const run = (_program: string, args: readonly string[]): Promise<Outcome> => {
    ran.push(args.join(" "));
    const isVenv = args.includes("venv");
    if (isVenv) place(args.at(-1) ?? "");
    return Promise.resolve(args.includes(failing) ? { code: 1, output } : { code: 0, output: "" });
  };
  return { run, say: (step) => said.push(step), onLine: () => undefined, ran, said, ...(signal && { signal }) };
}

function place(environment: string): void {
  mkdirSync(dirname(interpreterPath(environment)), { recursive: true });
  writeFileSync(interpreterPath(environment), "");
}

test("a server is installed step by step in its own folder, and found again", async () => {
  const work = steps();
  const environment = await install(BUNDLE, PYTHON, storage, work);

  assert.equal(environment, join(storage, "1.2.0-abc"));
  assert.equal(await findEnvironment(BUNDLE, storage), environment);
  assert.equal(work.said.length, 4);
  assert.ok(work.ran.every((line) => line.startsWith("-I -m ")), "no module of a workspace gets in between");
  assert.deepEqual(readdirSync(storage), ["1.2.0-abc"], "nothing is left beside it");
});

test("another version of the server is not used instead", async () => {
  await install(BUNDLE, PYTHON, storage, steps());
  assert.equal(await findEnvironment({ ...BUNDLE, stamp: "1.3.0-def" }, storage), undefined);
});

test("an environment whose Python is missing is created again", async () => {
  const environment = await install(BUNDLE, PYTHON, storage, steps());
  assert.ok(typeof environment === "string");
  rmSync(interpreterPath(environment));
  assert.equal(await findEnvironment(BUNDLE, storage), undefined);

  await install(BUNDLE, PYTHON, storage, steps());
  assert.equal(await findEnvironment(BUNDLE, storage), environment);
});

const FAILURES = [
  ["venv", "The virtual environment was not created because ensurepip is not available.", /python3 cannot create virtual environments/, /sudo apt install python3\.12-venv/],
  ["-r", "WARNING: x\nERROR: Could not find a version that satisfies the requirement pygls==2\nERROR: No matching distribution found", /Could not find a version that satisfies the requirement pygls==2$/, /package index/],
  ["--version", "Traceback\nImportError: libfoo", /does not start: ImportError: libfoo/, /Show Log/],
] as const;

for (const [failing, output, message, hint] of FAILURES) {
  test(`a failing ${failing} leaves nothing behind, and says what to do`, async () => {
    const problem = await install(BUNDLE, PYTHON, storage, steps(failing, output));

    assert.ok(typeof problem !== "string");
    assert.match(problem.message, message);
    assert.match(problem.hint ?? "", hint);
    assert.deepEqual(readdirSync(storage), []);
  });
}

test("a cancelled installation stops and leaves nothing behind", async () => {
  const cancelled = new AbortController();
  cancelled.abort();
  const work = steps("nothing", "", cancelled.signal);

  const problem = await install(BUNDLE, PYTHON, storage, work);

  assert.ok(typeof problem !== "string" && problem.message.includes("cancelled"));
  assert.equal(work.ran.length, 1);
  assert.deepEqual(readdirSync(storage), []);
});

test("the second of two windows uses the first one's installation", async () => {
  const answers = await Promise.all([install(BUNDLE, PYTHON, storage, steps()), install(BUNDLE, PYTHON, storage, steps())]);

  assert.equal(answers[0], answers[1]);
  assert.deepEqual(readdirSync(storage), ["1.2.0-abc"]);
});

test("installations unused for a week are deleted, those of other windows are kept", async () => {
  for (const [stamp, ageDays] of [["1.0.0-old", 8], ["1.1.0-lately", 6], ["1.2.0-abc", 30], ["1.1.0-x.partial", 1]] as const) {
    const folder = join(storage, stamp);
    mkdirSync(folder);
    writeFileSync(join(folder, ".ready"), "");
    const then = new Date(Date.now() - ageDays * DAY_MS);
    for (const path of [join(folder, ".ready"), folder]) utimesSync(path, then, then);
  }

  await deleteUnusedEnvironments(storage, "1.2.0-abc", Date.now());

  assert.deepEqual(readdirSync(storage).sort(), ["1.1.0-lately", "1.2.0-abc"]);
});

test("the signature of a bundle changes with its content, also within a version", () => {
  const server = join(storage, "out", "server");
  mkdirSync(server, { recursive: true });
  assert.equal(findBundle(storage), undefined);

  const stamps = ["one", "two"].map((content) => {
    writeFileSync(join(server, "agent_ls-1.2.0-py3-none-any.whl"), content);
    writeFileSync(join(server, "requirements.txt"), "pygls==2");
    return findBundle(storage)?.stamp ?? "";
  });

  assert.match(stamps[0] ?? "", /^1\.2\.0-[0-9a-f]{12}$/);
  assert.notEqual(stamps[0], stamps[1]);
  assert.ok(existsSync(findBundle(storage)?.requirements ?? ""));
});
