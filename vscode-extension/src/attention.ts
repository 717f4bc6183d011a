// When the user is told that he is waited for, or that the agent is done, and what the view's badge says. Pure.
import type { AgentEvent } from "./protocol";
import type { Snapshot } from "./items";
import { count } from "./review/words";
import { pendingApprovals } from "./snapshot";

/** off: only the panel, its badge and the status bar; away: while the window has no focus; unseen: also while the chat
 * is out of sight; system: as unseen here, where an extension has no bell and no desktop of its own. */
export type Notify = "off" | "away" | "unseen" | "system";

export interface Sight {
  readonly hasFocus: boolean;
  readonly isChatVisible: boolean;
}

const VALUES: ReadonlySet<unknown> = new Set<Notify>(["off", "away", "unseen", "system"]);

/** The setting as it was written; it was a boolean once. */
export function notifyOf(value: unknown): Notify {
  if (value === false) return "off";
  return VALUES.has(value) ? (value as Notify) : "unseen";
}

export function isTold(how: Notify, { hasFocus, isChatVisible }: Sight): boolean {
  if (how === "off") return false;
  return !hasFocus || (how !== "away" && !isChatVisible);
}

/** How many answers of the user are waited for. */
export function waiting(s: Snapshot, proposals: number): number {
  const questions = [...s.questions.values()].filter(({ status }) => status === "pending").length;
  return pendingApprovals(s).length + questions + (proposals > 0 ? 1 : 0);
}

export interface Badge {
  readonly value: number;
  readonly tooltip: string;
}

/** What the view's badge tells: what waits, else that a turn ended while nobody looked. */
export class Attention {
  private hasEndedUnseen = false;

  take(event: Pick<AgentEvent, "kind"> | undefined, sight: Sight): void {
    if (event?.kind === "processing_end") this.hasEndedUnseen = !sight.hasFocus || !sight.isChatVisible;
    else if (event?.kind === "user_input" || event?.kind === "session_start") this.hasEndedUnseen = false;
    else if (event === undefined) this.look(sight);
  }

  /** The user may have looked. */
  look({ hasFocus, isChatVisible }: Sight): void {
    if (hasFocus && isChatVisible) this.hasEndedUnseen = false;
  }

  badge(waits: number): Badge | undefined {
    if (waits > 0) return { value: waits, tooltip: `agent-ls waits for ${count(waits, "answer")} of yours` };
    return this.hasEndedUnseen ? { value: 1, tooltip: "agent-ls is done" } : undefined;
  }
}
