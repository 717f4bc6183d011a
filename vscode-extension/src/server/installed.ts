// Finds a server that the user has installed (by uv, pipx or pip). It is offered before the bundled one is set up.
import { findOnPath, run } from "./programs";

export interface InstalledServer {
  readonly program: string;
  readonly version: string;
}

/** Finds agent-ls on PATH. Returns undefined if there is none, or if it does not report its version. */
export async function findInstalled(path?: string): Promise<InstalledServer | undefined> {
  const program = findOnPath("agent-ls", path);
  if (program === undefined) return undefined;
  const { code, output } = await run(program, ["--version"]);
  const version = /^agent-ls (\S+)\s*$/m.exec(output)?.[1];
  return code === 0 && version !== undefined ? { program, version } : undefined;
}

/** Whether an installed server can replace the bundled server: they must have the same major and minor version. */
export function isCompatible(installed: string, bundled: string): boolean {
  return minor(installed) === minor(bundled);
}

function minor(version: string): string {
  return version.split(".", 2).join(".");
}
