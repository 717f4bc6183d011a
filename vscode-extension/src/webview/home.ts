// The content of the chat while the transcript is empty.
import { h, icon, textButton } from "./dom";
import type { FromView, Home } from "./messages";

type Send = (message: FromView) => void;

function logo(): SVGElement {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  for (const [name, value] of [["viewBox", "0 0 24 24"], ["class", "logo"], ["aria-hidden", "true"]] as const) svg.setAttribute(name, value);
  for (const line of ["M4 5.5h16M4 10h9M4 14.5h6M4 19h4", "m13.5 17 2.5 2.5 5-6"]) {
    const path = document.createElementNS(space, "path");
    path.setAttribute("d", line);
    svg.append(path);
  }
  return svg;
}

function keyState({ key, provider }: Home, send: Send): HTMLElement {
  const act = (action: "setKey" | "chooseModel") => () => { send({ type: "act", action }); };
  const demo = textButton("Try the walkthrough", () => { send({ type: "command", command: "demo" }); }, { class: "link", "data-action": "demo", title: "A complete session with a scripted model, which needs no key" });
  if (key === "set") return h("p", { class: "dim state" }, icon("pass"), h("span", {}, provider === "" ? "An API key is set." : `${provider} is ready.`), textButton("Choose Model…", act("chooseModel"), { class: "link", "data-action": "chooseModel" }));
  const set = textButton("Set API Key…", act("setKey"), { class: key === "missing" ? "primary" : "link", "data-action": "setKey" });
  if (key === "unknown") return h("p", { class: "dim state" }, icon("key"), set, demo);
  return h("div", { class: "state missing" }, h("p", {}, icon("key"), h("span", {}, `There is no API key${provider === "" ? "" : ` for ${provider}`} yet.`)), h("div", { class: "answers" }, set, demo));
}

/** Renders the content. `prompt` inserts a text into the prompt without sending it. */
export function homeElement(home: Home | undefined, send: Send, prompt: (text: string) => void): HTMLElement {
  const examples = (home?.examples ?? []).map((text) => h("li", {}, textButton(text, () => { prompt(text); }, { class: "example", title: "Put this into the prompt" })));
  const recents = (home?.recents ?? []).map(({ id, title, when }) =>
    h("li", {}, h("button", { type: "button", class: "recent", title: `Go on with “${title}”`, onClick: () => { send({ type: "openSession", id }); } }, icon("comment-discussion"), h("span", { class: "label" }, title), h("span", { class: "dim" }, when))));
  const all = textButton("All sessions…", () => { send({ type: "command", command: "sessions" }); }, { class: "link", "data-action": "sessions" });
  return h(
    "section",
    { id: "welcome", "aria-label": "Start" },
    h("div", { class: "brand" }, logo(), h("h1", {}, "What should change in this project?")),
    h("p", { class: "dim" }, "Changes are made in your files and marked there, and wait for you to keep or undo them."),
    home ? keyState(home, send) : null,
    examples.length > 0 && h("ul", { class: "examples", "aria-label": "Examples" }, ...examples),
    h("div", { class: "recents" }, recents.length > 0 && h("h2", {}, "Sessions"), recents.length > 0 && all),
    recents.length > 0 && h("ul", { class: "list", "aria-label": "Recent sessions" }, ...recents),
  );
}
