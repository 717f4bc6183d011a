// Renders a question from the model, with its choices and a field for an answer.
import { h, icon, isComposing, textButton } from "./dom";
import type { QuestionView } from "./messages";
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
    if (event.key === "Enter" && !isComposing(event) && field.value.trim() !== "") answer([field.value.trim()]);
  });
  return field;
}

export function questionElement(item: QuestionView, { send, isReadOnly }: RenderContext): HTMLElement {
  if (item.status !== "pending") {
    const isAnswered = item.status === "answered";
    return h("article", { class: "approval done" }, icon(isAnswered ? "check" : "circle-slash"), h("span", { class: "dim" }, `${item.text} `), isAnswered ? item.answers.join(", ") : "Skipped");
  }
  const titleId = `asked-${item.id}`;
  const answer: Answer = (answers) => { send({ type: "answer", questionId: item.id, answers, declined: answers.length === 0 }); };
  const leave = textButton("Skip", () => { answer([]); }, { class: "secondary", "data-action": "decline" });
  return h(
    "section",
    { class: "approval pending question", "aria-labelledby": titleId },
    h("h2", { id: titleId }, icon("question"), item.agentId === undefined ? "" : h("span", { class: "dim" }, `${item.agentId}: `), item.text),
    ...(isReadOnly()
      ? [item.choices.length > 0 ? h("ul", {}, ...item.choices.map((choice) => h("li", {}, choice))) : null, h("p", { class: "dim" }, "The editor that owns this session answers.")]
      : [item.choices.length > 0 ? choices(item, answer) : null, h("div", { class: "answers deny" }, item.isLimit ? null : ownWords(item, answer), leave)]),
  );
}
