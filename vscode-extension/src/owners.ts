// Whose the session is: what of that is folded, and said. Pure.
import type { AccessData, OwnerInfo } from "./events";
import { notice } from "./folds";
import type { Snapshot } from "./items";
import { touch } from "./parts";

export const TAKE_OVER = "Take it over (command “Take Over This Session”), or fork it to go on in a copy.";

export function isReadOnly(s: Snapshot): boolean {
  return s.session.access === "readOnly";
}

/** Who has a session that can only be read here; without an owner nobody has it open any more. */
export function ownerWords(owner: OwnerInfo | null | undefined): string {
  if (!owner) return "another editor, which has ended";
  return `${owner.program === "" ? "another editor" : owner.program} (process ${owner.pid} on ${owner.host})`;
}

/** Whose the session is from now on. */
export function foldAccess(s: Snapshot, { access, owner }: AccessData): void {
  const was = isReadOnly(s);
  s.session = { ...s.session, access, owner: owner ?? null };
  // Whether they can be answered here.
  for (const item of [...s.requests.values(), ...s.questions.values()]) touch(s, item);
  const id = `access:${s.lastSeq}:${s.items.length}`;
  if (access === "readOnly") notice(s, "warn", `Read only: owned by ${ownerWords(owner)}.`, TAKE_OVER, id);
  else if (was) notice(s, "info", "This session is this window's now.", "", id);
}
