// The server that this package brings along: its wheel, and the versions of what that needs.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

export interface Bundle {
  readonly wheel: string;
  readonly requirements: string;
  /** Names this very server: another one, be it of the same version, has another stamp. */
  readonly stamp: string;
}

/** Undefined when the package was built without a server, as in a checkout. */
export function findBundle(extensionPath: string): Bundle | undefined {
  const folder = join(extensionPath, "out", "server");
  const wheel = filesOf(folder).find((name) => name.endsWith(".whl"));
  if (wheel === undefined) return undefined;
  const paths = { wheel: join(folder, wheel), requirements: join(folder, "requirements.txt") };
  const hash = createHash("sha256").update(readFileSync(paths.wheel)).update(readFileSync(paths.requirements));
  const version = wheel.split("-")[1] ?? "0";
  return { ...paths, stamp: `${version}-${hash.digest("hex").slice(0, 12)}` };
}

function filesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
