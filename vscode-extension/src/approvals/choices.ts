// The possible answers to an approval, with their labels in display order. Pure.
import { revealHiddenCharacters } from "./hidden_characters";
import { type ApprovalRequested, type ApproveAnswer, type RuleOffer, effectOf } from "../connection/protocol";

/** An answer that the user can choose. It is sent at once, or after the user has entered a text. */
export type Choice = { readonly label: string; readonly detail: string } & (
  | { readonly kind: "send"; readonly answer: ApproveAnswer }
  | { readonly kind: "reason" | "edit" | "show" }
);

const LINE_CHARS = 120; // the longest line that a notification does not truncate
const BOX_LINES = 16;
const BOX_CHARS = 1_000;

function ruleChoice(rule: RuleOffer): Choice {
  const detail = [`Applies to ${HOLDS[rule.scope]}`, ...formatExamples(rule)].join(". ");
  return { kind: "send", label: rule.label, detail, answer: { decision: "allow", scope: rule.scope, ruleId: rule.id } };
}

/** Returns one sentence with examples of what a rule would also allow, and one with what would still need approval. */
export function formatExamples({ allows, stillAsked }: Pick<RuleOffer, "allows" | "stillAsked">): string[] {
  return [
    ...(allows.length > 0 ? [`Also allows: ${allows.join(" · ")}`] : []),
    ...(stillAsked.length > 0 ? [`Still needs approval: ${stillAsked.join(" · ")}`] : []),
  ];
}

const HOLDS: Record<RuleOffer["scope"], string> = {
  turn: "the rest of this turn", session: "this session", project: "this folder, also in later sessions", user: "all folders, also in later sessions",
};

const TRUST: Choice[] = [
  { kind: "send", label: "Trust This Folder", detail: "Its files come from you or from somebody you know", answer: { decision: "allow", scope: "once" } },
  { kind: "send", label: "Do Not Trust It", detail: "The agent can only read and answer in this folder", answer: { decision: "deny" } },
  { kind: "show", label: "Show in Chat", detail: "" },
];

/**
 * Returns the possible answers: allow once, allow by each rule that the server offers, run another command, deny, deny
 * with a reason, show in the chat. For a request to trust a folder, returns TRUST.
 */
export function listChoices(request: ApprovalRequested): Choice[] {
  const effect = effectOf(request);
  const isCommand = effect.command !== undefined && effect.inputOf === undefined;
  if (effect.folder !== undefined) return TRUST;
  return [
    { kind: "send", label: "Allow Once", detail: "", answer: { decision: "allow", scope: "once" } },
    ...request.rules.map(ruleChoice),
    ...(isCommand ? [{ kind: "edit" as const, label: "Run Another Command Instead…", detail: "You change the command; the model is sent your command" }] : []),
    { kind: "send", label: "Deny", detail: "", answer: { decision: "deny" } },
    { kind: "reason", label: "Deny with a Reason…", detail: "Your reason is sent to the model" },
    { kind: "show", label: "Show in Chat", detail: "" },
  ];
}

/** Whether the request can be allowed only in the chat: a command longer than a line, or a longer change or call than its box shows at once. */
export function isLong(request: ApprovalRequested): boolean {
  const { command, files = [], text = "" } = effectOf(request);
  if (command !== undefined) return !formatQuestion(request).isWhole;
  const lines = [...files.flatMap(({ diff }) => diff.split("\n").filter((line) => /^[-+]/.test(line))), ...text.split("\n")];
  return lines.length > BOX_LINES || lines.join("").length > BOX_CHARS;
}

/** Returns the answers for a list below one line: a long request is read and allowed in the chat, which is first then. */
export function listChoicesBelowLine(request: ApprovalRequested): Choice[] {
  const all = listChoices(request);
  if (!isLong(request)) return all;
  const others = all.filter((choice) => choice.kind !== "show" && !(choice.kind === "send" && choice.answer.decision === "allow"));
  return [{ kind: "show", label: "Show in Chat", detail: "It is longer than this line: read and allow it there" }, ...others];
}

/** Formats the request as one line. `isWhole` says whether the line contains everything that would be allowed. */
export function formatQuestion(request: ApprovalRequested): { readonly text: string; readonly isWhole: boolean } {
  const { text, isWhole } = question(request);
  return { text: revealHiddenCharacters(text), isWhole };
}

function question(request: ApprovalRequested): { readonly text: string; readonly isWhole: boolean } {
  const { tool, summary } = request;
  const effect = effectOf(request);
  if (effect.folder !== undefined) return { text: `agent-ls asks whether you trust ${effect.folder}`, isWhole: false };
  if (effect.url !== undefined) {
    const isWhole = effect.url.length <= LINE_CHARS;
    return { text: `agent-ls asks to fetch ${isWhole ? effect.url : summary}`, isWhole };
  }
  if (effect.command === undefined) {
    const files = effect.files ?? [];
    const what = files.length > 0 ? `${tool === "" ? "change files" : "edit"}: ${summary}` : `use ${tool}: ${summary}`;
    return { text: `agent-ls asks to ${what}`, isWhole: false };
  }
  const words = effect.inputOf === undefined ? effect.command : effect.command.replace(/\n$/, "");
  const isWhole = words.length <= LINE_CHARS && !words.includes("\n") && (effect.envVars ?? []).length === 0;
  const behind = effect.background === true ? " in the background" : "";
  const where = effect.outsideSandbox === true ? " outside the sandbox" : "";
  const what = effect.inputOf === undefined ? `run${behind}${where}` : `type into process ${effect.inputOf}`;
  return { text: `agent-ls asks to ${what}: ${isWhole ? words : summary}`, isWhole };
}

/** A block of code in the description of a request. `title` is a line above it, "" for none. */
export interface CodeBlock {
  readonly title: string;
  readonly language: string;
  readonly code: string;
}

/** Describes the request with its command or diffs. `isWhole`: the blocks contain everything that would be allowed. */
export function describeRequest(request: ApprovalRequested): { readonly text: string; readonly blocks: readonly CodeBlock[]; readonly isWhole: boolean } {
  const { text, isWhole } = formatQuestion(request);
  const { command, files = [], envVars = [] } = effectOf(request);
  if (command !== undefined) {
    const code = [...envVars.map(([name, value]) => `${name}=${value}`), command].join("\n");
    return { text, blocks: [{ title: "", language: "shellscript", code: revealHiddenCharacters(code) }], isWhole: true };
  }
  const blocks = files.map(({ path, action, diff }) => ({ title: revealHiddenCharacters(`${action} ${path}`), language: "diff", code: revealHiddenCharacters(diff) }));
  return { text, blocks, isWhole: blocks.length > 0 ? blocks.every(({ code }) => code !== "") : isWhole };
}
