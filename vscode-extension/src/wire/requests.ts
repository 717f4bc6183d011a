// Requests and notifications with their parameters and results, by method. Types only.
// Written by `python -m tests.tools.wire_types` from the server's own types: do not edit.
import type { Abort, AcceptPlan, AcceptPlanResult, Answer, AnswerResult, Approve, ApproveResult, Blame, BlameResult, BringChanges, BringChangesResult, ClientAnswer, CloseSession, Commands, CommandsResult, CommitMessage, CommitMessageResult, Compact, CompactResult, Complete, CompleteResult, Configure, ConfigureResult, CredentialResult, DeleteSession, Diagnostics, Draft, EditorState, Empty, Export, ExportResult, FollowUp, FollowUpResult, Fork, History, HistoryResult, Hunks, HunksResult, Interrupt, Looked, McpServers, McpServersResult, McpSwitch, Memory, MemoryResult, Models, ModelsResult, NewSession, Output, OutputResult, Queue, RemoveRule, RemoveRuleResult, Rename, Revert, RevertResult, Review, ReviewResult, Rules, RulesResult, SessionResult, Sessions, SessionsResult, SetCredential, Steer, SteerResult, Submit, SubmitResult, Subscribe, SubscribeResult, TakeOver, TerminalInput, TerminalKill, TerminalOutput, TerminalOutputResult, TerminalResize, Terminals, TerminalsResult, TextDocumentContent, TextDocumentContentResult, Trust, TrustResult, Unsteer, Unsubscribe } from "./objects";

export interface Requests {
  "agent/newSession": { readonly params: NewSession; readonly result: SessionResult };
  "agent/sessions": { readonly params: Sessions; readonly result: SessionsResult };
  "agent/bringChanges": { readonly params: BringChanges; readonly result: BringChangesResult };
  "agent/subscribe": { readonly params: Subscribe; readonly result: SubscribeResult };
  "agent/history": { readonly params: History; readonly result: HistoryResult };
  "agent/draft": { readonly params: Draft; readonly result: Empty };
  "agent/unsubscribe": { readonly params: Unsubscribe; readonly result: Empty };
  "agent/configure": { readonly params: Configure; readonly result: ConfigureResult };
  "agent/acceptPlan": { readonly params: AcceptPlan; readonly result: AcceptPlanResult };
  "agent/abort": { readonly params: Abort; readonly result: Empty };
  "agent/answer": { readonly params: Answer; readonly result: AnswerResult };
  "agent/rename": { readonly params: Rename; readonly result: SessionResult };
  "agent/fork": { readonly params: Fork; readonly result: SessionResult };
  "agent/takeOver": { readonly params: TakeOver; readonly result: SessionResult };
  "agent/revert": { readonly params: Revert; readonly result: RevertResult };
  "agent/closeSession": { readonly params: CloseSession; readonly result: Empty };
  "agent/deleteSession": { readonly params: DeleteSession; readonly result: Empty };
  "agent/export": { readonly params: Export; readonly result: ExportResult };
  "agent/output": { readonly params: Output; readonly result: OutputResult };
  "agent/submit": { readonly params: Submit; readonly result: SubmitResult };
  "agent/steer": { readonly params: Steer; readonly result: SteerResult };
  "agent/unsteer": { readonly params: Unsteer; readonly result: Empty };
  "agent/followUp": { readonly params: FollowUp; readonly result: FollowUpResult };
  "agent/interrupt": { readonly params: Interrupt; readonly result: Empty };
  "agent/queue": { readonly params: Queue; readonly result: Empty };
  "agent/compact": { readonly params: Compact; readonly result: CompactResult };
  "agent/approve": { readonly params: Approve; readonly result: ApproveResult };
  "agent/hunks": { readonly params: Hunks; readonly result: HunksResult };
  "agent/looked": { readonly params: Looked; readonly result: Empty };
  "agent/review": { readonly params: Review; readonly result: ReviewResult };
  "agent/rules": { readonly params: Rules; readonly result: RulesResult };
  "agent/removeRule": { readonly params: RemoveRule; readonly result: RemoveRuleResult };
  "agent/trust": { readonly params: Trust; readonly result: TrustResult };
  "workspace/textDocumentContent": { readonly params: TextDocumentContent; readonly result: TextDocumentContentResult };
  "agent/terminals": { readonly params: Terminals; readonly result: TerminalsResult };
  "agent/terminalKill": { readonly params: TerminalKill; readonly result: Empty };
  "agent/terminalInput": { readonly params: TerminalInput; readonly result: Empty };
  "agent/terminalResize": { readonly params: TerminalResize; readonly result: Empty };
  "agent/terminalOutput": { readonly params: TerminalOutput; readonly result: TerminalOutputResult };
  "agent/memory": { readonly params: Memory; readonly result: MemoryResult };
  "agent/editorState": { readonly params: EditorState; readonly result: Empty };
  "agent/diagnostics": { readonly params: Diagnostics; readonly result: Empty };
  "agent/clientAnswer": { readonly params: ClientAnswer; readonly result: Empty };
  "agent/setCredential": { readonly params: SetCredential; readonly result: CredentialResult };
  "agent/models": { readonly params: Models; readonly result: ModelsResult };
  "agent/mcpServers": { readonly params: McpServers; readonly result: McpServersResult };
  "agent/mcpSwitch": { readonly params: McpSwitch; readonly result: Empty };
  "agent/commands": { readonly params: Commands; readonly result: CommandsResult };
  "agent/complete": { readonly params: Complete; readonly result: CompleteResult };
  "agent/commitMessage": { readonly params: CommitMessage; readonly result: CommitMessageResult };
  "agent/blame": { readonly params: Blame; readonly result: BlameResult };
}
