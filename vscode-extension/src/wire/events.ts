// Messages of agent/event, and their data by kind. Types only.
// Written by `python -m tests.tools.wire_types` from the server's own types: do not edit.
import type { ApprovalRequested, ApprovalResolved, AssistantTextEnd, AssistantTextStart, CacheLost, Compaction, EditDiagnosed, Error, FileChange, HunkStateChanged, LoopDetection, OwnerInfo, PlanChanged, ProcessingEnd, QuestionAnswered, QuestionAsked, QueueChanged, QueueSpliced, ReasoningEnd, ReasoningStart, Retry, Reverted, RuleRemoved, SaveRequested, SessionEnd, SessionStart, StateChanged, SteeringInjected, SteeringQueued, SteeringRemoved, SubagentChanged, TerminalExit, TerminalOpen, TerminalWaiting, Title, ToolCallEnd, ToolCallStart, TurnFacts, TurnLimit, UsageReport, UserInput, Warning } from "./objects";

export interface Event {
  readonly sessionId: string;
  readonly seq?: number;
  readonly kind: string;
  readonly timestamp: string;
  readonly data: unknown;
  readonly turnId?: string;
  readonly agentId?: string;
  readonly after?: number;
  readonly partId?: string;
  readonly offset?: number;
}

export interface EventData {
  readonly session_start: SessionStart;
  readonly session_end: SessionEnd;
  readonly state: StateChanged;
  readonly user_input: UserInput;
  readonly processing_end: ProcessingEnd;
  readonly assistant_text_start: AssistantTextStart;
  readonly assistant_text_end: AssistantTextEnd;
  readonly reasoning_start: ReasoningStart;
  readonly reasoning_end: ReasoningEnd;
  readonly tool_call_start: ToolCallStart;
  readonly tool_call_end: ToolCallEnd;
  readonly steering_queued: SteeringQueued;
  readonly steering_removed: SteeringRemoved;
  readonly steering_injected: SteeringInjected;
  readonly queue: QueueChanged;
  readonly queue_splice: QueueSpliced;
  readonly plan: PlanChanged;
  readonly turn_limit: TurnLimit;
  readonly loop_detection: LoopDetection;
  readonly usage: UsageReport;
  readonly compaction: Compaction;
  readonly cache_lost: CacheLost;
  readonly file_change: FileChange;
  readonly diagnostics: EditDiagnosed;
  readonly save_requested: SaveRequested;
  readonly hunk_state: HunkStateChanged;
  readonly approval_requested: ApprovalRequested;
  readonly approval_resolved: ApprovalResolved;
  readonly question_asked: QuestionAsked;
  readonly question_answered: QuestionAnswered;
  readonly rule_removed: RuleRemoved;
  readonly terminal_open: TerminalOpen;
  readonly terminal_waiting: TerminalWaiting;
  readonly terminal_exit: TerminalExit;
  readonly subagent: SubagentChanged;
  readonly turn_facts: TurnFacts;
  readonly retry: Retry;
  readonly warning: Warning;
  readonly error: Error;
  readonly reverted: Reverted;
  readonly title: Title;
  readonly missing: Readonly<Record<string, never>>;
}

export interface UnrecordedData {
  readonly client_request: { readonly requestId: string; readonly clientId: string; readonly what: string; readonly params: object; readonly deadlineMs: number; };
  readonly access: { readonly access: "owner" | "readOnly"; readonly owner?: OwnerInfo; };
}

export interface DeltaData { readonly text: string; readonly name?: string; }
