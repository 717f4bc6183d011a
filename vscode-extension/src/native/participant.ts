// The participant @agent-ls in VS Code's own chat, and a tool for the models of other chats. Both run a turn in a session
// of this window. The agent-ls view displays the same session, and approvals can be given in either place.
import * as vscode from "vscode";
import { type Choice, describeRequest, listChoices } from "../approvals/choices";
import type { ApprovalItem, FileItem } from "../snapshot/items";
import type { InputPart } from "../connection/protocol";
import type { Sessions } from "../sessions/session";
import { toolWords } from "../snapshot/tool_words";
import { type TurnView, openSession, runTurn } from "./turn";

const PARTICIPANT = "agentLs.agent";
const TOOL = "agent-ls_edit";

/** Metadata that is stored with each answer, so that the next message of the same chat goes to the same session. */
interface AnswerMetadata {
  readonly sessionId?: string;
}

interface Task {
  readonly task: string;
}

export class NativeChat implements vscode.Disposable {
  private readonly registrations: { dispose(): void }[] = [];

  readonly commands: Readonly<Record<string, (...args: unknown[]) => unknown>> = {
    answerInChat: (requestId, choice) => this.answer(requestId as string, choice as Choice),
  };

  constructor(private readonly sessions: Sessions, icon: vscode.Uri) {
    // Editors that are built on VS Code may have no chat of their own.
    const { chat, lm } = vscode as { readonly chat?: typeof vscode.chat; readonly lm?: typeof vscode.lm };
    if (typeof chat?.createChatParticipant === "function") {
      const participant = chat.createChatParticipant(PARTICIPANT, (request, context, stream, token) => this.handle(request, context, stream, token));
      participant.iconPath = icon;
      this.registrations.push(participant);
    }
    if (typeof lm?.registerTool === "function") this.registrations.push(lm.registerTool(TOOL, editTool(sessions)));
  }

  dispose(): void {
    for (const each of this.registrations) each.dispose();
  }

  private async handle(request: vscode.ChatRequest, { history }: vscode.ChatContext, stream: vscode.ChatResponseStream, token: vscode.CancellationToken): Promise<vscode.ChatResult> {
    const last = history.findLast((turn) => turn instanceof vscode.ChatResponseTurn && turn.participant === PARTICIPANT);
    const kept = last instanceof vscode.ChatResponseTurn ? (last.result.metadata as AnswerMetadata | undefined) : undefined;
    const sessionId = await openSession(this.sessions, kept?.sessionId);
    if (sessionId === undefined) return failureResult(this.sessions);
    const end = await runTurn(this.sessions, inputOf(request), streamView(stream), token);
    if (!end) return { ...failureResult(this.sessions), metadata: { sessionId } };
    if (end.files.length > 0) stream.button({ command: "agentLs.nextHunk", title: "Review Changes" });
    return { metadata: { sessionId } satisfies AnswerMetadata };
  }

  private async answer(requestId: string, choice: Choice): Promise<void> {
    const item = this.sessions.snapshot.requests.get(requestId);
    if (choice.kind === "send" && item?.status === "pending") await this.sessions.approve(item, choice.answer);
    else await vscode.commands.executeCommand("agentLs.answer");
  }
}

/** Creates a tool for the models of other chats. Approvals are requested in the agent-ls view and by notifications. */
function editTool(sessions: Sessions): vscode.LanguageModelTool<Task> {
  return {
    prepareInvocation({ input }) {
      const message = new vscode.MarkdownString();
      message.appendText(input.task);
      return { invocationMessage: "agent-ls is working", confirmationMessages: { title: "Give this task to agent-ls?", message } };
    },
    async invoke({ input }, token) {
      const sessionId = await openSession(sessions, undefined);
      const end = sessionId === undefined ? undefined : await runTurn(sessions, [{ type: "text", text: input.task }], SILENT, token);
      const words = end ? [end.text, ...end.files.map(formatFile)].filter((each) => each !== "").join("\n") : formatProblems(sessions);
      return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(words)]);
    },
  };
}

const ignoreResult = () => undefined;
const SILENT: TurnView = { showText: ignoreResult, showTool: ignoreResult, showFile: ignoreResult, showApproval: ignoreResult, showProblem: ignoreResult };

function streamView(stream: vscode.ChatResponseStream): TurnView {
  const seen = new Set<string>();
  return {
    showText: (words) => { stream.markdown(words); },
    showTool: (item) => { stream.progress(`${toolWords(item).doing} ${item.summary}`.trim()); },
    showFile: ({ uri }) => {
      if (!seen.has(uri)) stream.reference(vscode.Uri.parse(uri));
      seen.add(uri);
    },
    showApproval: (item) => { showApproval(stream, item); },
    showProblem: (words) => { stream.markdown(`\n\n**${words}**\n`); },
  };
}

function showApproval(stream: vscode.ChatResponseStream, { id, request }: ApprovalItem): void {
  const { text, blocks, isWhole } = describeRequest(request);
  const words = new vscode.MarkdownString();
  words.appendText(`${text}\n`);
  for (const { title, language, code } of blocks) {
    if (title !== "") words.appendText(`\n${title}\n`);
    words.appendCodeblock(code, language);
  }
  stream.markdown(words);
  for (const choice of listChoices(request)) {
    const title = choice.kind === "show" ? "More…" : choice.label;
    const isOffered = choice.kind === "show" || (choice.kind === "send" && (isWhole || choice.answer.decision === "deny"));
    if (isOffered) stream.button({ command: "agentLs.answerInChat", title, arguments: [id, choice] });
  }
}

/** Converts a chat request to a message: the files and lines that the user attached, and the prompt. */
function inputOf({ prompt, references }: vscode.ChatRequest): InputPart[] {
  const attached = references.flatMap(({ value }): InputPart[] => {
    if (value instanceof vscode.Uri && value.scheme === "file") return [{ type: "file", uri: value.toString() }];
    if (value instanceof vscode.Location && value.uri.scheme === "file") return [{ type: "file", uri: value.uri.toString() }];
    return typeof value === "string" ? [{ type: "text", text: value }] : [];
  });
  return [...attached, { type: "text", text: prompt }];
}

function formatFile({ uri, action, added, removed }: FileItem): string {
  const path = vscode.workspace.asRelativePath(vscode.Uri.parse(uri));
  return `${action}: ${path} +${added} -${removed} (the user reviews it in the editor)`;
}

function formatProblems(sessions: Sessions): string {
  const notice = sessions.snapshot.items.findLast((item) => item.kind === "notice" && item.level !== "info");
  return notice?.kind === "notice" ? notice.text : "The message could not be sent to the agent. The chat has the reason.";
}

function failureResult(sessions: Sessions): vscode.ChatResult {
  return { errorDetails: { message: formatProblems(sessions) } };
}
