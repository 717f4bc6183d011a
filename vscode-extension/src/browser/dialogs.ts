// Modal questions, and short messages that disappear by themselves.
import { h, isComposing, textButton } from "../webview/dom";

export interface Choice {
  readonly label: string;
  readonly isPrimary?: boolean;
}

/** Asks the user in a modal dialog. Returns the index of the chosen answer; undefined if the user closed the dialog. */
export function askUser(title: string, body: readonly (HTMLElement | string)[], choices: readonly Choice[]): Promise<number | undefined> {
  return new Promise((resolve) => {
    const buttons = choices.map(({ label, isPrimary = false }, index) =>
      textButton(label, () => { dialog.close(String(index)); }, { class: isPrimary ? "primary" : "secondary" }));
    const close = textButton("Cancel", () => { dialog.close(); }, { class: "secondary" });
    const parts = body.map((part) => (typeof part === "string" ? h("p", {}, part) : part));
    const dialog = h("dialog", { "aria-labelledby": "asked-title" }, h("h2", { id: "asked-title" }, title), ...parts, h("div", { class: "answers" }, ...buttons, close));
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "" ? undefined : Number(dialog.returnValue));
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

const SHOWN_MS = 4_000;

/** Shows a message for SHOWN_MS. Screen readers announce it. */
/** Asks the user for one line of text; "" if the user closed the dialog. */
export async function askLine(title: string): Promise<string> {
  const input = h("input", { type: "text", "aria-label": title });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !isComposing(event)) input.closest("dialog")?.querySelector<HTMLElement>("button.primary")?.click();
  });
  return (await askUser(title, [input], [{ label: "Send", isPrimary: true }])) === 0 ? input.value : "";
}

export function showToast(text: string): void {
  const place = document.getElementById("toast");
  if (!place) return;
  place.textContent = text;
  place.hidden = false;
  setTimeout(() => { if (place.textContent === text) place.hidden = true; }, SHOWN_MS);
}
