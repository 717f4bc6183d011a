// Renders questions, subagents, compactions and roll backs.
import { h, icon, plural, textButton } from "./dom";
import type { CompactionItem } from "../items";
import type { QuestionView, RevertedView, SubagentView } from "./messages";
import type { RenderContext } from "./render";

type Answer = (answers: readonly string[]) => void;

function choices(item: QuestionView, answer: Answer): HTMLElement {
  if (!item.multiple) return h("div", { class: "answers" }, ...item.choices.map((choice) => textButton(choice, () => { answer([choice]); }, { class: "secondary", "data-action": `choice ${choice}` })));
  const boxes = item.choices.map((choice) => h("input", { type: "checkbox", value: choice }));
  const labels = boxes.map((box) => h("label", { class: "choice" }, box, ` ${box.value}`));
  const send = textButton("Answer", () => { answer(boxes.filter(({ checked }) => checked).map(({ value }) => value)); }, { class: "primary", "data-action": "answer" });
  return h("div", { class: "answers many" }, ...labels, send);
}

function ownWords(item: QuestionView, answer: Answer): HTMLInputElement {
  const field = h("input", { type: "text", class: "reason", "aria-label": "An answer in your own words", placeholder: item.choices.length > 0 ? "Or in your own words" : "Your answer" });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing && field.value.trim() !== "") answer([field.value.trim()]);
  });
  return field;
}

export function questionElement(item: QuestionView, { send, isReadOnly }: RenderContext): HTMLElement {
  if (item.status !== "pending") {
    const isAnswered = item.status === "answered";
    return h("article", { class: "approval done" }, icon(isAnswered ? "check" : "circle-slash"), h("span", { class: "dim" }, `${item.text} `), isAnswered ? item.answers.join(", ") : "left open");
  }
  const titleId = `asked-${item.id}`;
  const answer: Answer = (answers) => { send({ type: "answer", questionId: item.id, answers, declined: answers.length === 0 }); };
  const leave = textButton("Skip", () => { answer([]); }, { class: "secondary", "data-action": "decline" });
  return h(
    "section",
    { class: "approval pending question", "aria-labelledby": titleId },
    h("h2", { id: titleId }, icon("question"), item.agentId === undefined ? "" : h("span", { class: "dim" }, `${item.agentId}: `), item.text),
    ...(isReadOnly()
      ? [item.choices.length > 0 ? h("ul", {}, ...item.choices.map((choice) => h("li", {}, choice))) : null, h("p", { class: "dim" }, "Its owner answers.")]
      : [item.choices.length > 0 ? choices(item, answer) : null, h("div", { class: "answers deny" }, ownWords(item, answer), leave)]),
  );
}

const AGENT_ICONS = { running: "loading codicon-modifier-spin", completed: "check", failed: "error" } as const;
const REASONS: Readonly<Record<string, string>> = { limit: "reached its limit", error: "failed", interrupted: "stopped", closed: "closed" };

/** A subagent; its items are below it, visible while it is expanded. */
export function subagentElement(item: SubagentView, { expanded }: RenderContext, onToggle: (open: boolean) => void): HTMLElement {
  const doing = item.status === "running" ? "at work" : (REASONS[item.reason] ?? "done");
  const outcome = item.turns > 0 ? `${doing} · ${plural(item.turns, "round")}` : doing;
  const summary = h("summary", {}, icon(AGENT_ICONS[item.status]), h("strong", {}, item.id), h("span", { class: "what" }, item.task), h("span", { class: "outcome dim" }, outcome));
  const element = h("details", { open: expanded.get(item.id) ?? false }, summary);
  element.addEventListener("toggle", () => {
    expanded.set(item.id, element.open);
    onToggle(element.open);
  });
  const output = item.output.trim();
  return h("article", { class: `subagent ${item.status}`, "aria-label": `${item.id}: ${item.task}` }, element, output === "" ? null : h("div", { class: "output" }, output));
}

export function compactionElement(item: CompactionItem): HTMLElement {
  const words = item.text === "" ? "Summing up the conversation to make room…" : item.text;
  const body = item.summary === "" ? null : h("details", {}, h("summary", { class: "dim" }, "Summary"), h("pre", { class: "summary" }, item.summary));
  return h("article", { class: `notice ${item.status === "failed" ? "warn" : "info"}` }, icon(item.status === "started" ? "loading codicon-modifier-spin" : "fold"), h("div", {}, words, body));
}

const FILE_WORDS: Readonly<Record<string, string>> = { restored: "restored", conflict: "left as it is: changed since", unknown: "its earlier text is not known" };

export function revertedElement(item: RevertedView, { send }: RenderContext): HTMLElement {
  const words = item.isBack ? "Took the roll back back." : item.turns > 0 ? `Rolled back ${plural(item.turns, "message")}.` : "Rolled back files only.";
  const takeBack = textButton("Take It Back", () => { send({ type: "rollBack", turnId: item.revertId }); }, { class: "link", "data-action": "back" });
  const files = item.files.map(({ path, state }) => h("li", { class: state }, h("code", {}, path), h("span", { class: "dim" }, ` ${FILE_WORDS[state] ?? state}`)));
  return h("article", { class: "notice info reverted" }, icon("history"), h("div", {}, words, " ", takeBack, files.length > 0 ? h("ul", {}, ...files) : null));
}
