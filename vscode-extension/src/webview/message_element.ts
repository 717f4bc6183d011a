// Renders a user message: its text, its attachments as chips and images, and a collapsed element with the text
// sent to the model.
import { h, icon } from "./dom";
import type { Chip, DisplayedMessage } from "../chat/message_display";
import type { FromView } from "./messages";

interface Context {
  readonly send: (message: FromView) => void;
  readonly expanded: Map<string, boolean>;
}

function chip({ icon: name, label, target }: Chip, send: Context["send"]): HTMLElement {
  const inside = [icon(name), h("span", { class: "label" }, label)];
  if (target === "") return h("li", {}, ...inside);
  return h("li", {}, h("button", { type: "button", class: "link", title: `Open ${label}`, onClick: () => { send({ type: "openFile", target }); } }, ...inside));
}

export function messageElements(id: string, { text, chips, pictures, more }: DisplayedMessage, { send, expanded }: Context): (HTMLElement | string)[] {
  const elements: (HTMLElement | string)[] = [text];
  if (chips.length > 0) elements.push(h("ul", { class: "chips", "aria-label": "Attachments" }, ...chips.map((each) => chip(each, send))));
  if (pictures.length > 0) elements.push(h("div", { class: "pictures" }, ...pictures.map((src) => h("img", { src, alt: "Attached picture" }))));
  if (more !== "") {
    const folded = h("details", { open: expanded.get(`${id}:more`) ?? false }, h("summary", { class: "dim" }, "Text sent to the model"), h("div", { class: "model-text" }, more));
    folded.addEventListener("toggle", () => expanded.set(`${id}:more`, folded.open));
    elements.push(folded);
  }
  return elements;
}
