// The question that is asked before a roll back, and the request parameters for each answer. Pure.
import type { Requests, RevertFile, RevertResult } from "../connection/protocol";
import { formatCount } from "../review/words";

type Revert = Requests["agent/revert"]["params"];

const ACTIONS = { create: "written again", modify: "changed back", delete: "removed" } as const;

/** The possible answers; the usual answer is first. */
export const ANSWERS = { all: "Roll Back", files: "Only Files", conversation: "Only Conversation", force: "Roll Back Edited Files, Too" } as const;
export type Answer = keyof typeof ANSWERS;

export const TYPED = "Your own later edits of these files are kept.";

export interface Question {
  readonly title: string;
  readonly conversation: string;
  /** One line per file. */
  readonly files: readonly string[];
  readonly answers: readonly Answer[];
}

/** `name` formats a path for display. */
export function questionOf(plan: RevertResult, name: (path: string) => string): Question {
  const { turns, restoredTurns, files } = plan;
  const conversation = turns.length > 0
    ? `Removes ${formatCount(turns.length, "message")} and the replies to ${turns.length === 1 ? "it" : "them"}.`
    : restoredTurns.length > 0 ? `Brings ${formatCount(restoredTurns.length, "message")} back into the conversation.` : "The conversation is not changed.";
  const line = ({ path, action, state, reason }: RevertFile) => `${name(path)}${state === "planned" ? `: ${ACTIONS[action]}` : ` stays as it is: ${reason}`}`;
  const hasConflict = files.some(({ state }) => state === "conflict");
  return {
    title: restoredTurns.length > 0 ? "Undo this roll back?" : "Go back to before this message?",
    conversation,
    files: files.map(line),
    answers: files.length === 0 ? ["all"] : ["all", "files", "conversation", ...(hasConflict ? ["force" as const] : [])],
  };
}

/** The request parameters for an answer. */
export function revertOf(answer: Answer): Pick<Revert, "files" | "conversation" | "force"> {
  return {
    files: answer === "conversation" ? "keep" : "restore",
    ...(answer === "files" && { conversation: false }), ...(answer === "force" && { force: true }),
  };
}
