// Session ownership: updates the owner in the snapshot, and describes it to the user. Pure.
import type { AccessData, OwnerInfo } from "../connection/protocol";
import { addNoticeItem } from "../snapshot/folds";
import type { Snapshot } from "../snapshot/items";
import { markChanged } from "../snapshot/parts";

export const TAKE_OVER = "Take the session over (command “Take Over This Session”), or fork it to continue in a copy.";

/** The part of Sessions that this module uses: the displayed session, and a method to show a notice. */
interface NoticeTarget {
  readonly snapshot: Snapshot;
  showNotice(level: "warn", text: string, hint: string): void;
}

export function isReadOnly(s: Snapshot): boolean {
  return s.session.access === "readOnly";
}

/** Describes the owner of a read-only session. If there is no owner, its process has ended. */
export function describeOwner(owner: OwnerInfo | null | undefined): string {
  if (!owner) return "another editor, which has ended";
  return `${owner.program === "" ? "another editor" : owner.program} (process ${owner.pid} on ${owner.host})`;
}

/** Requests that change nothing, so a client that does not own the session may send them. */
const READ_ONLY_METHODS: ReadonlySet<string> = new Set(["agent/rules", "agent/terminals", "agent/mcpServers"]);

/** Returns whether the request must not be sent, because another process owns the session. Then shows a notice. */
export function refuseIfReadOnly(sessions: NoticeTarget, method: string, what: "sent" | "answered" | "done" = "done"): boolean {
  if (!isReadOnly(sessions.snapshot) || READ_ONLY_METHODS.has(method)) return false;
  sessions.showNotice("warn", `Not ${what}, because this session is owned by ${describeOwner(sessions.snapshot.session.owner)}.`, TAKE_OVER);
  return true;
}

/** Sets the owner of the session. */
export function foldAccess(s: Snapshot, { access, owner }: AccessData): void {
  const was = isReadOnly(s);
  const session = { ...s.session };
  delete session.owner;
  s.session = { ...session, access, ...(owner && { owner }) };
  // Redraw requests and questions, because only the owner can answer them.
  for (const item of [...s.requests.values(), ...s.questions.values()]) markChanged(s, item);
  const id = `access:${s.lastSeq}:${s.items.length}`;
  if (access === "readOnly") addNoticeItem(s, "warn", `Read-only: owned by ${describeOwner(owner)}.`, TAKE_OVER, id);
  else if (was) addNoticeItem(s, "info", "This window now owns the session.", "", id);
}
