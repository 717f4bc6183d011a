// Finds and runs programs on this machine.
import { spawn } from "node:child_process";
import { constants, accessSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";

/** Returns the path if it is an executable file, else undefined. */
export function findExecutable(path: string): string | undefined {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile() ? path : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Finds a program on PATH. Does not use the system's lookup, because some systems also search the working folder, where
 * a repository could contain a program with this name.
 */
export function findOnPath(name: string, path = process.env["PATH"] ?? ""): string | undefined {
  const suffixes = process.platform === "win32" && !name.endsWith(".exe") ? [".exe"] : [""];
  for (const folder of path.split(delimiter).filter(isAbsolute)) {
    for (const suffix of suffixes) {
      const found = findExecutable(join(folder, name + suffix));
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

export interface Outcome {
  /** The exit code; null if the program did not start, or if a signal ended it. */
  readonly code: number | null;
  readonly output: string;
}

export interface RunOptions {
  readonly signal?: AbortSignal;
  /** Called with each line of standard output and standard error. */
  readonly onLine?: (line: string) => void;
}

/** Runs a program. Resolves when it has ended; never rejects. */
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

/** Variables that cleanEnvironment removes: they would redirect the installation. Those for the package index stay. */
const MISLEADING = ["PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_PYTHON", "PIP_DRY_RUN", "VIRTUAL_ENV", "PYTHONHOME", "PYTHONPATH"];

export function cleanEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !MISLEADING.includes(name)));
}
