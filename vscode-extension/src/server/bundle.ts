// The server that the extension contains: its wheel, and the versions of its dependencies.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

export interface Bundle {
  readonly wheel: string;
  readonly requirements: string;
  /** Identifies this build of the server. Different builds of the same version have different stamps. */
  readonly stamp: string;
}

/** Finds the bundled server; undefined if the extension was built without a server, as in a checkout. */
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
