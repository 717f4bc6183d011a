// Programs of this machine: where they are, and what one says when it is run.
import { spawn } from "node:child_process";
import { constants, accessSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";

/** Its path when it is a file that may be run. */
export function executable(path: string): string | undefined {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile() ? path : undefined;
  } catch {
    return undefined;
  }
}

/** Looked up by us: systems that also look in the working folder would run what a repository put there. */
export function onPath(name: string, path = process.env["PATH"] ?? ""): string | undefined {
  const suffixes = process.platform === "win32" && !name.endsWith(".exe") ? [".exe"] : [""];
  for (const folder of path.split(delimiter).filter(isAbsolute)) {
    for (const suffix of suffixes) {
      const found = executable(join(folder, name + suffix));
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

export interface Outcome {
  /** null: it did not run, or was ended by a signal. */
  readonly code: number | null;
  readonly output: string;
}

export interface RunOptions {
  readonly signal?: AbortSignal;
  /** Whole lines of both streams, as they come. */
  readonly onLine?: (line: string) => void;
}

/** Settles when the program has ended; never rejects. */
export function run(program: string, args: readonly string[], { signal, onLine }: RunOptions = {}): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { env: cleanEnvironment(process.env), stdio: ["ignore", "pipe", "pipe"], ...(signal && { signal }) });
    let output = "", line = "";
    const take = (chunk: Buffer | string): void => {
      output += String(chunk);
      const lines = (line + String(chunk)).split(/\r?\n/);
      line = lines.pop() ?? "";
      for (const whole of lines) onLine?.(whole);
    };
    child.stdout.on("data", take);
    child.stderr.on("data", take);
    child.on("error", (error) => { resolve({ code: null, output: output + String(error) }); });
    child.on("close", (code) => { resolve({ code, output }); });
  });
}

/** Settings that would send what we install elsewhere are left out; those of the package index stay. */
const MISLEADING = ["PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_PYTHON", "PIP_DRY_RUN", "VIRTUAL_ENV", "PYTHONHOME", "PYTHONPATH"];

export function cleanEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !MISLEADING.includes(name)));
}
