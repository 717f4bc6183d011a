// Creates hunks for tests, with defaults for the fields that a test does not set.
import type { Hunk } from "../../snapshot/items";
import { type Hunks, setHunk } from "../../review/model";

export function hunk(id: string, first: number, last: number, more: Partial<Hunk> = {}): Hunk {
  return { id, uri: "file:///a", sessionId: "s1", turnId: "", callId: "", what: "content", state: "pending", first, last, oldLines: [], newLines: [], ...more };
}

export function hunksOf(...each: Hunk[]): Hunks {
  const hunks: Hunks = new Map();
  for (const one of each) setHunk(hunks, one);
  return hunks;
}
