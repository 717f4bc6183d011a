// Installs the bundled server into a virtual environment, once per stamp, and deletes old environments.
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Problem } from "../connection/protocol";
import type { Bundle } from "./bundle";
import type { Outcome, RunOptions } from "./programs";
import type { Python } from "./python";

const READY = ".ready";
const PARTIAL = ".partial";
const HOUR_MS = 3_600_000;
/** Old environments are kept for a week, because a server in another window may still import modules from them. */
const UNUSED_MS = 7 * 24 * HOUR_MS;

export interface Steps {
  readonly run: (program: string, args: readonly string[], options?: RunOptions) => Promise<Outcome>;
  readonly say: (step: string) => void;
  readonly onLine: (line: string) => void;
  readonly signal?: AbortSignal;
}

/** Path of the environment's interpreter; it may not exist. */
export function interpreterPath(environment: string): string {
  return process.platform === "win32" ? join(environment, "Scripts", "python.exe") : join(environment, "bin", "python");
}

/** Finds the complete environment of this bundle. Updates its time of use, for deleteUnusedEnvironments. */
export async function findEnvironment(bundle: Bundle, storage: string): Promise<string | undefined> {
  const environment = join(storage, bundle.stamp);
  // A system upgrade that removes the interpreter leaves a dangling link.
  if (!existsSync(join(environment, READY)) || !existsSync(interpreterPath(environment))) return undefined;
  const now = new Date();
  await utimes(join(environment, READY), now, now);
  return environment;
}

/** Installs under a temporary name and renames at the end, so that an environment with the final name is complete. */
export async function install(bundle: Bundle, python: Python, storage: string, steps: Steps): Promise<string | Problem> {
  const environment = join(storage, bundle.stamp);
  const partial = `${environment}.${randomBytes(4).toString("hex")}${PARTIAL}`;
  await mkdir(storage, { recursive: true });
  try {
    const problem = await fill(partial, bundle, python, steps);
    if (problem) return problem;
    await writeFile(join(partial, READY), "");
    return (await putInPlace(partial, environment)) ?? environment;
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}

async function fill(partial: string, bundle: Bundle, python: Python, { run, say, onLine, signal }: Steps): Promise<Problem | undefined> {
  const own = interpreterPath(partial);
  const pip = ["-I", "-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--progress-bar=off"];
  const steps = [
    { says: `an environment on Python ${python.version}`, program: python.program, args: ["-I", "-m", "venv", partial], fails: describeVenvFailure },
    { says: "packages", program: own, args: [...pip, "-r", bundle.requirements], fails: describePipFailure },
    { says: "the server", program: own, args: [...pip, "--no-index", "--no-deps", bundle.wheel], fails: describePipFailure },
    { says: "a first start", program: own, args: ["-I", "-m", "agent_ls", "--version"], fails: describeStartFailure },
  ];
  for (const { says, program, args, fails } of steps) {
    say(says);
    const { code, output } = await run(program, args, { onLine, ...(signal && { signal }) });
    if (signal?.aborted) return { message: "Setting up the server was cancelled.", hint: "Send your message again, or use the command “agent-ls: Restart the Server”." };
    if (code !== 0) return fails(output, python);
  }
  return undefined;
}

/** Renames the environment. Returns a problem if that fails and no other window has installed it. */
async function putInPlace(partial: string, environment: string): Promise<Problem | undefined> {
  const isWhole = (): boolean => existsSync(join(environment, READY)) && existsSync(interpreterPath(environment));
  if (!isWhole()) await rm(environment, { recursive: true, force: true });
  try {
    await rename(partial, environment);
  } catch (error) {
    if (!isWhole()) return { message: `The server's environment could not be set up: ${String(error)}`, hint: "Try again." };
  }
  return undefined;
}

export function describeVenvFailure(output: string, { program, version }: Python): Problem {
  const [major, minor] = version.split(".");
  if (/ensurepip|No module named venv/.test(output)) {
    const name = `python${major ?? 3}.${minor ?? ""}-venv`;
    return {
      message: `${program} cannot create virtual environments: its module venv is not installed.`,
      hint: `Install the package ${name} or python3-venv (Debian, Ubuntu: sudo apt install ${name}), then try again.`,
    };
  }
  return { message: `${program} -m venv failed: ${lastLine(output)}`, hint: "See the log (command “agent-ls: Show Log”), or choose another Python with the setting agentLs.python." };
}

export function describePipFailure(output: string): Problem {
  const errors = output.split(/\r?\n/).filter((line) => line.startsWith("ERROR:"));
  const said = (errors.find((line) => !line.includes("No matching distribution")) ?? lastLine(output)).replace(/^ERROR:\s*/, "");
  return {
    message: `pip could not install what the server needs: ${said}`,
    hint: "The installation uses the package index, proxy and certificates of your pip configuration. See the log (command “agent-ls: Show Log”), then try again.",
  };
}

function describeStartFailure(output: string): Problem {
  return { message: `The server was installed, but does not start: ${lastLine(output)}`, hint: "See the log (command “agent-ls: Show Log”)." };
}

function lastLine(output: string): string {
  return output.trimEnd().split(/\r?\n/).at(-1) ?? "";
}

/** Deletes environments that were unused for a week, and incomplete ones of interrupted installations. */
export async function deleteUnusedEnvironments(storage: string, keep: string, nowMs: number): Promise<void> {
  const names = await readdir(storage).catch(() => []);
  for (const name of names.filter((each) => each !== keep)) {
    const folder = join(storage, name);
    const isPartial = name.endsWith(PARTIAL);
    const used = await stat(isPartial ? folder : join(folder, READY)).catch(() => undefined);
    const ageMs = nowMs - (used?.mtimeMs ?? 0);
    if (ageMs > (isPartial ? HOUR_MS : UNUSED_MS)) await rm(folder, { recursive: true, force: true });
  }
}
