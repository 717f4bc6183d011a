// Finds a Python interpreter for the server.
import { isAbsolute } from "node:path";
import type { Problem } from "../connection/protocol";
import { findExecutable, findOnPath, run } from "./programs";

const NEEDED: readonly [number, number] = [3, 11];
const NAMES = ["python3", "python", "python3.13", "python3.12", "python3.11", "python3.14"] as const;
const HINT = `Install Python ${NEEDED.join(".")} or newer, or set agentLs.python to such a Python; then try again.`;

export interface Python {
  readonly program: string;
  readonly version: string;
}

/** Finds an interpreter that is new enough. `wanted` is the setting agentLs.python; "" searches PATH. */
export async function findPython(wanted: string): Promise<Python | Problem> {
  const names = wanted === "" ? NAMES : [wanted];
  const places = new Set(names.map((name) => (isAbsolute(name) ? findExecutable(name) : findOnPath(name))));
  const old: string[] = [];
  for (const program of places) {
    const version = program === undefined ? undefined : await versionOf(program);
    if (program === undefined || version === undefined) continue;
    if (isNewEnough(version)) return { program, version };
    old.push(`${program} is ${version}`);
  }
  return { message: describeMissing(wanted, old), hint: HINT };
}

export function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1]);
}

async function versionOf(program: string): Promise<string | undefined> {
  const { code, output } = await run(program, ["-I", "-c", "import platform; print(platform.python_version())"]);
  return code === 0 ? /^\d+\.\d+\S*/m.exec(output)?.[0] : undefined;
}

function describeMissing(wanted: string, old: readonly string[]): string {
  const needed = `agent-ls needs Python ${NEEDED.join(".")} or newer`;
  if (old.length > 0) return `${needed}: ${old.join(", ")}.`;
  return wanted === "" ? `${needed}, and found none on PATH.` : `${needed}: ${wanted} of the setting agentLs.python does not run.`;
}
