// Whose the session is: what of that is folded, and said. Pure.
import type { AccessData, OwnerInfo } from "./events";
import { notice } from "./folds";
import type { Snapshot } from "./items";
import { touch } from "./parts";

export const TAKE_OVER = "Take it over (command “Take Over This Session”), or fork it to go on in a copy.";

/** Where the shown session is, and what it says to its user. */
interface Speaker {
  readonly snapshot: Snapshot;
  say(level: "warn", text: string, hint: string): void;
}

export function isReadOnly(s: Snapshot): boolean {
  return s.session.access === "readOnly";
}

/** Who has a session that can only be read here; without an owner nobody has it open any more. */
export function ownerWords(owner: OwnerInfo | null | undefined): string {
  if (!owner) return "another editor, which has ended";
  return `${owner.program === "" ? "another editor" : owner.program} (process ${owner.pid} on ${owner.host})`;
}

/** What of a session is only looked at: who reads it along may ask for that too. */
const LOOKS: ReadonlySet<string> = new Set(["agent/rules", "agent/terminals"]);

/** Whether the session that is shown is another process's and this would change it: then that was said, and nothing is sent. */
export function isRefused(sessions: Speaker, method: string, what: "sent" | "answered" | "done" = "done"): boolean {
  if (!isReadOnly(sessions.snapshot) || LOOKS.has(method)) return false;
  sessions.say("warn", `Not ${what}: this session is owned by ${ownerWords(sessions.snapshot.session.owner)}.`, TAKE_OVER);
  return true;
}

/** Whose the session is from now on. */
export function foldAccess(s: Snapshot, { access, owner }: AccessData): void {
  const was = isReadOnly(s);
  const session = { ...s.session };
  delete session.owner;
  s.session = { ...session, access, ...(owner && { owner }) };
  // Whether they can be answered here.
  for (const item of [...s.requests.values(), ...s.questions.values()]) touch(s, item);
  const id = `access:${s.lastSeq}:${s.items.length}`;
  if (access === "readOnly") notice(s, "warn", `Read only: owned by ${ownerWords(owner)}.`, TAKE_OVER, id);
  else if (was) notice(s, "info", "This session is this window's now.", "", id);
}
