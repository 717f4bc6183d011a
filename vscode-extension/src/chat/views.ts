// Converts snapshot items to plain data for the webview, truncated if too long to display. Pure.
import { endText } from "../snapshot/folds";
import { describeActivity } from "../snapshot/activity";
import type { ApprovalItem, EndItem, FileItem, Hunk, Item, RevertedItem, Snapshot, SteerItem, TextItem, ToolItem, UserItem } from "../snapshot/items";
import { joinMoves } from "../snapshot/moves";
import { describeOwner } from "../sessions/owners";
import { type Effect, type HunkState, type TurnFacts, effectOf } from "../connection/protocol";
import { pathOf } from "../connection/uris";
import { isOpen } from "../review/model";
import { findActivity, planOf } from "../snapshot/snapshot";
import { notebookDiff } from "./notebook_diff";
import type { ApprovalView, EndView, FactsView, FileView, ItemView, RevertedView, SessionView, TextView, ToolView } from "../webview/messages";
import { fileOf, findingOf, groupOf } from "../snapshot/tool_words";
import { type DisplayedMessage, type PathContext, displaySentMessage, displayLoggedMessage } from "./message_display";

const RUNNING_TAIL_CHARS = 2_000; // characters at the end of a running command's output
const HALF_OUTPUT_CHARS = 8_000; // characters of a finished output, at each end
const DIFF_CHARS = 40_000;
const MAX_ABOUT_CHARS = 300;
const STATE_ORDER: readonly HunkState[] = ["proposed", "pending", "edited", "stale", "kept", "undone", "gone"];

export type ViewContext = PathContext;

/** Returns the lines of a diff that fit into DIFF_CHARS. */
function wholeLines(diff: string): string {
  return diff.length <= DIFF_CHARS ? diff : diff.slice(0, diff.lastIndexOf("\n", DIFF_CHARS));
}

function viewMessage({ text: modelText, parts }: UserItem | SteerItem, context: ViewContext): DisplayedMessage {
  return parts ? displaySentMessage(parts, modelText, context) : displayLoggedMessage(modelText, context);
}

function text(item: TextItem): TextView {
  const { kind, id, index, part } = item;
  return { kind, id, index, text: part.text, open: part.open, interrupted: part.interrupted };
}

function cutOutput(item: ToolItem): { output: string; cutChars: number } {
  const whole = item.part.text;
  if (item.status !== "done" && item.status !== "failed") {
    return { output: whole.slice(-RUNNING_TAIL_CHARS), cutChars: Math.max(0, whole.length - RUNNING_TAIL_CHARS) };
  }
  const cutChars = whole.length - 2 * HALF_OUTPUT_CHARS;
  if (cutChars <= 0) return { output: whole, cutChars: 0 };
  const output = `${whole.slice(0, HALF_OUTPUT_CHARS)}\n⋯ ${cutChars} characters not shown here\n${whole.slice(-HALF_OUTPUT_CHARS)}`;
  return { output, cutChars };
}

function describeOutcome(item: ToolItem, waiting: boolean): string {
  const { result } = item;
  if (waiting) return "waits for your input";
  if (!result) return item.background === true ? "in the background" : "";
  const words: string[] = [];
  const exit = result.exitCode ?? 0;
  if (exit !== 0 && !result.summary.startsWith("exit")) words.push(`exit ${exit}`);
  if (result.summary !== "") words.push(result.summary);
  if (result.durationMs >= 1000) words.push(`${(result.durationMs / 1000).toFixed(1)} s`);
  return words.join(" · ");
}

const NEAR = 40; // items after a call to search for its changes; parallel calls can add items in between

/** Whether the row of the call can be hidden, because a pending request or the items of its changes show the same. */
function isRedundant({ index, id, status, terminalId }: ToolItem, s: Snapshot): boolean {
  if ([...s.requests.values()].some(({ request, status: asked }) => request.callId === id && asked === "pending")) return true;
  if (status === "failed" || terminalId !== undefined) return false;
  const from = index - s.first + 1;
  return s.items.slice(from, from + NEAR).some((item) => item.kind === "file" && item.callId === id);
}

const REACHES: Readonly<Record<string, string>> = { once: "allowed once", turn: "allowed for this turn", session: "allowed for this session" };

/** Describes how the call was allowed; "" if no approval was requested, or it is still pending. */
function describeAllowed(callId: string, s: Snapshot): string {
  const item = [...s.requests.values()].findLast(({ request, status }) => request.callId === callId && status === "allow");
  return item ? (REACHES[item.scope ?? "once"] ?? "allowed by a rule") : "";
}

function tool(item: ToolItem, s: Snapshot): ToolView {
  const { kind, id, index, name, summary, look, doing, done, status, background = false, terminalId } = item;
  const terminal = terminalId === undefined ? undefined : s.terminals.get(terminalId);
  const finding = findingOf(name, item.arguments.text) ?? null;
  const { lines = "", target = finding?.target ?? "" } = fileOf(name, summary, item.arguments.text) ?? {};
  return {
    kind, id, index, name, summary, status, background, lines, target, finding,
    ...cutOutput(item),
    arguments: item.arguments.text.slice(0, HALF_OUTPUT_CHARS),
    outcome: describeOutcome(item, terminal?.waiting === true),
    allowed: describeAllowed(id, s),
    look, doing, done,
    group: status === "done" && item.agentId === undefined ? groupOf(look) : "",
    isRedundant: isRedundant(item, s),
    hasTerminal: terminalId !== undefined,
    killable: terminal?.running === true ? terminal.id : null,
    sinceMs: terminal?.running === true ? (terminal.sinceMs ?? null) : null,
  };
}

function file(item: FileItem, s: Snapshot, context: ViewContext): FileView {
  const { kind, id, index, uri, action, added, removed } = item;
  const hunks = item.hunkIds.flatMap((hunkId) => s.hunks.get(hunkId) ?? []);
  const states = STATE_ORDER.map((state) => ({ state, count: hunks.filter((hunk) => hunk.state === state).length }));
  const whole = item.path.endsWith(".ipynb") ? notebookDiff(item.diff) : item.diff;
  const diff = wholeLines(whole);
  return {
    kind, id, index, uri, action, added, removed, diff,
    isCut: diff.length < whole.length,
    path: context.relative(item.path),
    states: states.filter(({ count }) => count > 0),
    openIds: hunks.filter((hunk) => isOpen(hunk.state)).map((hunk) => hunk.id),
    isProposed: item.isProposal === true,
    movedFrom: item.movedFrom === undefined ? "" : context.relative(item.movedFrom),
    callId: s.calls.has(item.callId) ? item.callId : "",
  };
}

function describeLocation(item: ApprovalItem, context: ViewContext): string {
  const effect = effectOf(item.request);
  if (effect.command === undefined && effect.text === undefined) return "";
  if (effect.inputOf !== undefined) return `typed into the background process ${effect.inputOf}`;
  const folder = effect.workingDir ?? "";
  const words = folder === "" ? [] : [`in ${context.relative(folder)}`];
  for (const [name, value] of effect.envVars ?? []) words.push(`with ${name}=${value}`);
  if (effect.background === true) words.push("in the background");
  return words.join(", ");
}

/** Returns the arguments of a call; for a tool of an MCP server also its description, and what the server has changed. */
function describeCall({ text = "", server = "", about = "", change = "" }: Effect): string {
  if (server === "") return text;
  const quoted = (words: string) => words.split("\n").map((line) => `| ${line}`);
  const changed = change === "" ? [] : ["The server has changed it since you approved it:", ...quoted(change)];
  return [text, `The server ${server} describes its tool:`, ...quoted(about), ...changed].join("\n");
}

/** Finds the model's description of the call in its arguments, which may be incomplete JSON; "" if there is none. */
function findDescription(callId: string, s: Snapshot): string {
  const given = s.calls.get(callId)?.arguments.text ?? "";
  const found = /"description"\s*:\s*("(?:[^"\\]|\\.)*")/.exec(given)?.[1];
  try {
    return found === undefined ? "" : (JSON.parse(found) as string).slice(0, MAX_ABOUT_CHARS);
  } catch {
    return "";
  }
}

function approval(item: ApprovalItem, s: Snapshot, context: ViewContext): ApprovalView {
  const { kind, id, index, summary, status, request } = item;
  const effect = effectOf(request);
  return {
    kind, id, index, summary, status,
    tool: request.tool,
    why: request.reason,
    command: effect.command ?? "",
    trust: effect.folder ?? "",
    text: describeCall(effect),
    where: describeLocation(item, context),
    files: (effect.files ?? []).map(({ path, action, diff }) => ({ path: context.relative(path), action, diff })),
    paths: effect.url === undefined ? (effect.paths ?? []).map(context.relative) : [effect.url],
    rules: request.rules,
    reason: item.reason ?? "",
    scope: item.scope ?? "once",
    instead: item.command ?? "",
    about: findDescription(request.callId, s),
    isRedundant: item.decidedBy === "interrupt" || status === "allow" && effect.folder === undefined && (item.reason ?? "") === "" && s.calls.has(request.callId),
  };
}

function end({ kind, id, index, turnId, reason, files, facts }: EndItem, s: Snapshot, context: ViewContext): EndView {
  const own = [...s.hunks.values()].filter((hunk) => hunk.turnId === turnId);
  const all = joinMoves(s, files);
  const open = own.filter((hunk) => isOpen(hunk.state));
  const states = new Set(own.map(({ state }) => state));
  return {
    kind, id, index,
    text: endText(reason),
    files: all.map(({ movedFrom, ...each }) => ({ ...each, path: context.relative(each.path), ...(movedFrom !== undefined && { movedFrom: context.relative(movedFrom) }) })),
    outcome: own.length === 0 || open.length > 0 ? "" : states.has("kept") && states.size > 1 ? "decided" : states.has("kept") ? "kept" : "undone",
    isRedundant: open.length > 0 || (all.length === 1 && s.items.filter((each) => each.kind === "file" && each.turnId === turnId).length === 1),
    canContinue: reason === "interrupted" && s.items.at(-1)?.id === id,
    facts: facts ? factsView(facts) : null,
  };
}

/** Returns the files with open hunks, in the order in which they were changed first. */
function openFiles(open: readonly Hunk[], context: ViewContext): SessionView["hunks"]["files"] {
  return [...new Set(open.map(({ uri }) => uri))].map((uri) => {
    const own = open.filter((hunk) => hunk.uri === uri);
    const [first] = own;
    const sum = (lines: (hunk: Hunk) => number) => own.reduce((all, hunk) => all + lines(hunk), 0);
    return {
      uri,
      path: context.relative(pathOf(uri)),
      action: first?.what === "create" || first?.what === "delete" ? first.what : "modify",
      added: sum(({ newLines }) => newLines.length),
      removed: sum(({ oldLines }) => oldLines.length),
      ids: own.map(({ id }) => id),
      isProposed: own.every(({ state }) => state === "proposed"),
    };
  });
}

function factsView({ text, checks }: TurnFacts): FactsView {
  const results = new Set(checks.map(({ result }) => result));
  const outcome = results.has("failed") || results.has("stopped") ? "failed" : results.has("passed") ? "passed" : "none";
  return { text, outcome, command: checks.at(-1)?.command ?? "" };
}

function reverted({ kind, id, index, data }: RevertedItem, context: ViewContext): RevertedView {
  const files = data.files.map(({ path, state }) => ({ path: context.relative(path), state }));
  return { kind, id, index, revertId: data.revertId, turns: data.turns.length, isBack: data.restoredTurns.length > 0, files };
}

export function itemView(item: Item, s: Snapshot, context: ViewContext): ItemView {
  const { agentId, isOut = false } = item;
  // Collapse an item only if its subagent has an item to collapse it into.
  const isFolded = agentId !== undefined && s.agents.has(agentId);
  return { ...view(item, s, context), ...(isFolded && { agentId }), ...(isOut && { isOut }) };
}

function view(item: Item, s: Snapshot, context: ViewContext): ItemView {
  switch (item.kind) {
    case "text":
    case "reasoning":
      return text(item);
    case "tool":
      return tool(item, s);
    case "file":
      return file(item, s, context);
    case "approval":
      return approval(item, s, context);
    case "end":
      return end(item, s, context);
    case "reverted":
      return reverted(item, context);
    case "user":
      return { kind: "user", id: item.id, index: item.index, message: viewMessage(item, context), ...(item.turnId !== undefined && { turnId: item.turnId }) };
    case "steer":
      return { kind: "steer", id: item.id, index: item.index, message: viewMessage(item, context), status: item.status };
    case "notice":
      return item.isOut === true ? { ...item, actions: [] } : item;
    case "question":
    case "subagent":
    case "compaction":
    case "retry":
      return item;
  }
}

export function sessionView(s: Snapshot, context: ViewContext): SessionView {
  const { session } = s;
  const open = [...s.hunks.values()].filter((hunk) => isOpen(hunk.state));
  return {
    id: session.id ?? "",
    title: session.title ?? "",
    activity: findActivity(s),
    doing: describeActivity(s),
    sending: s.sending ? displaySentMessage(s.sending, "", context) : null,
    provider: session.provider ?? "",
    model: session.model ?? "",
    effort: session.effort ?? "",
    mode: session.mode ?? "ask",
    isWalkthrough: session.isWalkthrough ?? false,
    readOnly: session.access === "readOnly",
    owner: session.access === "readOnly" ? describeOwner(session.owner) : "",
    queue: s.queue.map(({ queuedId, text: words, images }) => ({ queuedId, text: words, images })),
    usage: s.usage ?? null,
    plan: s.plan ?? null,
    canAcceptPlan: planOf(s) !== undefined,
    hunks: { files: openFiles(open, context), count: open.length, proposed: open.filter(({ state }) => state === "proposed").length },
  };
}
