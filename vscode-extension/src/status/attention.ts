// Decides when to notify the user that the agent waits for them or is done, and computes the badge of the view. Pure.
import type { AgentEvent } from "../connection/protocol";
import type { Snapshot } from "../snapshot/items";
import { formatCount } from "../review/words";
import { pendingApprovals } from "../snapshot/snapshot";

/**
 * The setting `agentLs.notify`. off: only panel, badge and status bar; away: notify while the window has no focus;
 * unseen: also while the chat is not visible; system: like unseen, because an extension cannot ring a bell or
 * notify the desktop.
 */
export type Notify = "off" | "away" | "unseen" | "system";

export interface Sight {
  readonly hasFocus: boolean;
  readonly isChatVisible: boolean;
}

const VALUES: ReadonlySet<unknown> = new Set<Notify>(["off", "away", "unseen", "system"]);

/** Parses the setting, which was a boolean in older versions. */
export function parseNotify(value: unknown): Notify {
  if (value === false) return "off";
  return VALUES.has(value) ? (value as Notify) : "unseen";
}

export function shouldNotify(how: Notify, { hasFocus, isChatVisible }: Sight): boolean {
  if (how === "off") return false;
  return !hasFocus || (how !== "away" && !isChatVisible);
}

/** Number of pending requests to the user. */
export function countPending(s: Snapshot, proposals: number): number {
  const questions = [...s.questions.values()].filter(({ status }) => status === "pending").length;
  return pendingApprovals(s).length + questions + (proposals > 0 ? 1 : 0);
}

export interface Badge {
  readonly value: number;
  readonly tooltip: string;
}

/** Computes the view's badge: the number of pending requests, else a mark if a turn has ended unseen. */
export class Attention {
  private hasEndedUnseen = false;

  applyEvent(event: Pick<AgentEvent, "kind"> | undefined, sight: Sight): void {
    if (event?.kind === "processing_end") this.hasEndedUnseen = !sight.hasFocus || !sight.isChatVisible;
    else if (event?.kind === "user_input" || event?.kind === "session_start") this.hasEndedUnseen = false;
    else if (event === undefined) this.updateSight(sight);
  }

  /** Updates what the user can see. */
  updateSight({ hasFocus, isChatVisible }: Sight): void {
    if (hasFocus && isChatVisible) this.hasEndedUnseen = false;
  }

  badge(waits: number): Badge | undefined {
    if (waits > 0) return { value: waits, tooltip: `agent-ls waits for ${formatCount(waits, "answer")} from you` };
    return this.hasEndedUnseen ? { value: 1, tooltip: "agent-ls is done" } : undefined;
  }
}
