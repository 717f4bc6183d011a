// Items of a snapshot as the webview is given them: plain data, cut where it would be too long to show. Pure.
import { END_WORDS } from "../folds";
import type { ApprovalItem, EndItem, FileItem, Item, RevertedItem, Snapshot, TextItem, ToolItem } from "../items";
import { ownerWords } from "../owners";
import type { HunkState } from "../protocol";
import { isOpen } from "../review/model";
import { activity } from "../snapshot";
import type { ApprovalView, EndView, FileView, ItemView, RevertedView, SessionView, TextView, ToolView } from "../webview/messages";

const RUNNING_TAIL_CHARS = 2_000; // the last lines of a running command
const HALF_OUTPUT_CHARS = 8_000; // of a done one, at each end
const DIFF_CHARS = 40_000;
const STATE_ORDER: readonly HunkState[] = ["proposed", "pending", "edited", "stale", "kept", "undone", "gone"];

export interface ViewContext {
  /** A path as people read it in this workspace. */
  readonly relative: (path: string) => string;
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

function outcome(item: ToolItem, waiting: boolean): string {
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

function tool(item: ToolItem, s: Snapshot): ToolView {
  const { kind, id, index, name, summary, status, background = false, terminalId } = item;
  const terminal = terminalId === undefined ? undefined : s.terminals.get(terminalId);
  return {
    kind, id, index, name, summary, status, background,
    ...cutOutput(item),
    arguments: item.arguments.text.slice(0, HALF_OUTPUT_CHARS),
    outcome: outcome(item, terminal?.waiting === true),
    hasTerminal: terminalId !== undefined,
    killable: terminal?.running === true ? terminal.id : null,
  };
}

function file(item: FileItem, s: Snapshot, context: ViewContext): FileView {
  const { kind, id, index, uri, action, added, removed } = item;
  const hunks = item.hunkIds.flatMap((hunkId) => s.hunks.get(hunkId) ?? []);
  const states = STATE_ORDER.map((state) => ({ state, count: hunks.filter((hunk) => hunk.state === state).length }));
  return {
    kind, id, index, uri, action, added, removed,
    diff: item.diff.slice(0, DIFF_CHARS),
    path: context.relative(item.path),
    states: states.filter(({ count }) => count > 0),
    openIds: hunks.filter((hunk) => isOpen(hunk.state)).map((hunk) => hunk.id),
  };
}

function where(item: ApprovalItem, context: ViewContext): string {
  const { effect } = item.request;
  if (effect.command === undefined && effect.text === undefined) return "";
  if (effect.inputOf !== undefined) return `typed into the background process ${effect.inputOf}`;
  const folder = effect.workingDir ?? "";
  const words = folder === "" ? [] : [`in ${context.relative(folder)}`];
  for (const [name, value] of effect.envVars ?? []) words.push(`with ${name}=${value}`);
  if (effect.background === true) words.push("in the background");
  return words.join(", ");
}

function approval(item: ApprovalItem, context: ViewContext): ApprovalView {
  const { kind, id, index, summary, status, request } = item;
  const { effect } = request;
  return {
    kind, id, index, summary, status,
    tool: request.tool,
    why: request.reason,
    command: effect.command ?? "",
    trust: effect.folder ?? "",
    text: effect.text ?? "",
    where: where(item, context),
    files: (effect.files ?? []).map(({ path, action, diff }) => ({ path: context.relative(path), action, diff })),
    paths: effect.url === undefined ? (effect.paths ?? []).map(context.relative) : [effect.url],
    rules: request.rules,
    reason: item.reason ?? "",
    scope: item.scope ?? "once",
  };
}

function end({ kind, id, index, turnId, reason, files }: EndItem, s: Snapshot, context: ViewContext): EndView {
  const open = [...s.hunks.values()].filter((hunk) => hunk.turnId === turnId && isOpen(hunk.state));
  return {
    kind, id, index,
    text: END_WORDS[reason] ?? "",
    files: files.map((each) => ({ ...each, path: context.relative(each.path) })),
    openIds: open.map((hunk) => hunk.id),
  };
}

function reverted({ kind, id, index, data }: RevertedItem, context: ViewContext): RevertedView {
  const files = data.files.map(({ path, state }) => ({ path: context.relative(path), state }));
  return { kind, id, index, revertId: data.revertId, turns: data.turns.length, isBack: data.restoredTurns.length > 0, files };
}

export function itemView(item: Item, s: Snapshot, context: ViewContext): ItemView {
  const { agentId, isOut = false } = item;
  // Without its entry there is nothing to fold it into.
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
      return approval(item, context);
    case "end":
      return end(item, s, context);
    case "reverted":
      return reverted(item, context);
    case "question":
    case "subagent":
    case "compaction":
    case "user":
    case "steer":
    case "retry":
    case "notice":
      return item;
  }
}

export function sessionView(s: Snapshot): SessionView {
  const { session } = s;
  const open = [...s.hunks.values()].filter((hunk) => isOpen(hunk.state));
  return {
    id: session.id ?? "",
    title: session.title ?? "",
    activity: activity(s),
    provider: session.provider ?? "",
    model: session.model ?? "",
    effort: session.effort ?? "",
    mode: session.mode ?? "ask",
    isWalkthrough: session.isWalkthrough ?? false,
    readOnly: session.access === "readOnly",
    owner: session.access === "readOnly" ? ownerWords(session.owner) : "",
    queue: s.queue.map(({ queuedId, text: words, images }) => ({ queuedId, text: words, images })),
    usage: s.usage ?? null,
    plan: s.plan ?? null,
    hunks: { files: new Set(open.map((hunk) => hunk.uri)).size, count: open.length, proposed: open.filter(({ state }) => state === "proposed").length },
  };
}
