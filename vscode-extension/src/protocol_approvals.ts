// Mirrors what the user is asked: approvals (agent_ls/loop/events.py, agent_ls/environments/effects.py) and questions.
import type { RuleScope } from "./protocol";

/** A rule that an approval may store: `id` is sent back, `scope` is how long it holds. */
export interface RuleOffer {
  readonly id: string;
  readonly label: string;
  readonly scope: RuleScope;
  /** Commands that it would allow besides, and such that it would not. */
  readonly allows: readonly string[];
  readonly stillAsked: readonly string[];
}

export interface PlannedWrite {
  readonly path: string;
  readonly action: "create" | "modify" | "delete" | "move";
  readonly diff: string;
  readonly changeKey: string;
}

type Words = readonly string[];

/** The exact action that is asked about (agent_ls/environments/effects.py); which fields are there tells its type. */
export interface Effect {
  readonly type: "NoEffect" | "ReadEffect" | "WriteEffect" | "CommandEffect" | "ProcessEffect" | "TrustEffect" | "FetchEffect" | "CallEffect";
  readonly command?: string;
  readonly workingDir?: string;
  readonly envVars?: readonly (readonly [string, string])[];
  readonly background?: boolean;
  /** The background process that it is typed into, instead of being run. */
  readonly inputOf?: string;
  readonly outsideSandbox?: boolean;
  readonly files?: readonly PlannedWrite[];
  readonly paths?: Words;
  /** Of a background process: which, and what is done to it. */
  readonly processId?: string;
  readonly action?: "list" | "read" | "write" | "kill";
  /** Whether the user trusts this folder, whose owner (a number, or "") is told. */
  readonly folder?: string;
  readonly owner?: string;
  readonly url?: string;
  readonly privateAddress?: string;
  /** Of a call of a tool that was added: its arguments, or the program that it starts with its words. */
  readonly text?: string;
  readonly tool?: string;
  readonly category?: "read" | "write" | "admin";
  readonly definition?: string;
  readonly argv?: Words;
}

export interface ApprovalRequest {
  readonly requestId: string;
  readonly callId: string;
  readonly tool: string;
  readonly summary: string;
  readonly reason: string;
  readonly effect: Effect;
  readonly digest: string;
  readonly rules: readonly RuleOffer[];
  /** Of the subagent that wants it; "": the main agent. */
  readonly agentId: string;
}

export interface QuestionData {
  readonly questionId: string;
  /** "": a limit was reached. */
  readonly callId: string;
  readonly question: string;
  readonly choices: readonly string[];
  readonly multiple: boolean;
  readonly purpose: "question" | "limit";
}
