// Renders a roll back, the files that it restored, and a button that reverses it.
import { h, icon, plural, textButton } from "./dom";
import { REVERTED_WORDS } from "../wire/words";
import type { RevertedView } from "./messages";
import type { RenderContext } from "./render";

export function revertedElement(item: RevertedView, { send }: RenderContext): HTMLElement {
  const words = item.isBack ? "Reverted the roll back." : item.turns > 0 ? `Rolled back ${plural(item.turns, "message")}.` : "Rolled back files only.";
  const takeBack = textButton(item.isBack ? "Roll Back Again" : "Revert the Roll Back", () => { send({ type: "rollBack", turnId: item.revertId }); }, { class: "link", "data-action": "back" });
  const files = item.files.map(({ path, state }) => h("li", { class: state }, h("code", {}, path), h("span", { class: "dim" }, ` ${REVERTED_WORDS[state] ?? state}`)));
  return h("article", { class: "notice info reverted" }, icon("history"), h("div", {}, words, " ", takeBack, files.length > 0 ? h("ul", {}, ...files) : null));
}
