// The bars above and below the transcript: the session, pending changes, and the plan.
import { h, icon, iconButton, plural, textButton } from "./dom";
import type { FromView, HostCommand, SessionView } from "./messages";
import { counts, FILE_ICONS, pathButton, type RenderContext } from "./render";

type Send = (message: FromView) => void;

function command(send: Send, name: HostCommand): () => void {
  return () => { send({ type: "command", command: name }); };
}

const DOING: Record<SessionView["activity"], string> = { working: "working", waiting: "", idle: "", closed: "closed" };

export function header(session: SessionView, toQuestion: () => void, send: Send): HTMLElement | null {
  if (session.id === "") return null;
  const proposes = session.activity === "waiting" && session.hunks.proposed > 0;
  const badges = [session.isWalkthrough ? "walkthrough" : "", DOING[session.activity]];
  const asks = session.activity === "waiting" && !proposes && textButton("asks you", toQuestion, { class: "badge", title: "Show the question" });
  const waits = proposes && textButton("asks you", command(send, "nextHunk"), { class: "badge", title: "Show the proposed change" });
  return h(
    "header",
    { id: "session" },
    h("h1", { title: session.title }, session.title === "" ? "New session" : session.title),
    ...badges.filter((badge) => badge !== "").map((badge) => h("span", { class: "badge" }, badge)),
    asks,
    waits,
    session.readOnly && h("span", { class: "badge", title: `Owned by ${session.owner}.` }, "read only"),
    session.readOnly && textButton("Take Over", command(send, "takeOver"), { class: "link", "data-action": "takeOver", title: `This session is open in ${session.owner}. Taking it over stops a running turn there. A turn that waits for your answer is moved to this window.` }),
  );
}

/** Creates a button for all changes, such as “Keep All”. In a narrow chat the word “All” is hidden. */
function allButton(verb: string, act: () => void, action: string): HTMLElement {
  return h("button", { type: "button", class: "link", "aria-label": `${verb} All`, title: `${verb} All`, "data-action": action, onClick: act }, verb, h("span", { class: "all" }, " All"));
}

/** The bar of all open changes. It unfolds to their files, which are decided there one by one. */
export function reviewBar({ hunks }: SessionView, context: RenderContext, redraw: () => void): HTMLElement | null {
  const { files, count } = hunks, { send, expanded } = context;
  if (count === 0) return null;
  const [keep, undo] = wordsFor(hunks.proposed === count);
  const isOpen = expanded.get("review") ?? false;
  const toggle = (): void => { expanded.set("review", !isOpen); redraw(); };
  return h(
    "section",
    { id: "review", "aria-label": "Changes to review" },
    h(
      "div",
      { class: "line" },
      h(
        "button",
        { type: "button", class: "link what", "aria-expanded": String(isOpen), title: isOpen ? "Hide the files" : "Show the files", "data-action": "files", onClick: toggle },
        icon(isOpen ? "chevron-down" : "chevron-right"), h("span", {}, plural(count, "change")), h("span", { class: "dim" }, ` in ${plural(files.length, "file")}`),
      ),
      iconButton("diff-multiple", "Review all changes in one view", command(send, "reviewAll"), { "data-action": "all" }),
      iconButton("arrow-up", "Previous change", command(send, "previousHunk"), { "data-action": "previous" }),
      iconButton("arrow-down", "Next change", command(send, "nextHunk"), { "data-action": "next" }),
      allButton(keep, command(send, "keepAll"), "keep"),
      allButton(undo, command(send, "undoAll"), "undo"),
    ),
    isOpen && h("ul", {}, ...files.map((file) => openFile(file, context))),
    isOpen && h("button", { type: "button", class: "link guide", title: "One row for each change, with its reason and marks", "data-action": "guide", onClick: command(send, "guidedReview") }, icon("list-ordered"), "Guided review"),
  );
}

function wordsFor(isProposed: boolean): readonly [string, string] {
  return isProposed ? ["Accept", "Reject"] : ["Keep", "Undo"];
}

function openFile(file: SessionView["hunks"]["files"][number], context: RenderContext): HTMLElement {
  const { uri, path, action, ids, isProposed } = file;
  const [keep, undo] = wordsFor(isProposed);
  const judge = (verdict: "keep" | "undo") => () => { context.send({ type: "review", hunkIds: ids, verdict }); };
  return h(
    "li",
    {},
    icon(FILE_ICONS[action]),
    pathButton(uri, path, context),
    counts(file),
    h("span", { class: "grow" }),
    iconButton("check", `${keep} the changes of ${path}`, judge("keep"), { "data-action": `keep ${uri}` }),
    iconButton("discard", `${undo} the changes of ${path}`, judge("undo"), { "data-action": `undo ${uri}` }),
  );
}

/** The bar with the button to edit and accept the plan; null if there is no plan to accept. */
export function acceptBar({ canAcceptPlan }: SessionView, send: Send): HTMLElement | null {
  if (!canAcceptPlan) return null;
  return h(
    "section",
    { id: "accept-plan", "aria-label": "Plan to accept" },
    h("span", { class: "what" }, "The plan is ready."),
    h("button", { type: "button", class: "link", "data-action": "plan", onClick: command(send, "plan") }, "Edit and Accept…"),
  );
}

const STEP_ICONS = { pending: "circle-large-outline", active: "arrow-circle-right", done: "pass-filled" } as const;
const STEP_WORDS = { pending: "to do", active: "now", done: "done" } as const;

/** The plan with its steps. Hidden if all steps are done and the agent is idle. */
export function planBar({ plan, activity }: SessionView, { expanded }: RenderContext): HTMLElement | null {
  if (!plan || plan.items.length === 0) return null;
  const done = plan.items.filter(({ status }) => status === "done").length;
  if (done === plan.items.length && activity !== "working") return null;
  const now = plan.items.find(({ status }) => status === "active")?.text ?? plan.explanation;
  const steps = plan.items.map(({ text, status }) =>
    h("li", { class: status, "aria-current": status === "active" ? "step" : undefined }, icon(STEP_ICONS[status]), h("span", { class: "sr-only" }, `${STEP_WORDS[status]}: `), text));
  const summary = h("summary", {}, h("strong", {}, "Plan"), h("span", { class: "dim" }, `${done}/${plan.items.length}`), h("span", { class: "now" }, now));
  const element = h("details", { open: expanded.get("plan") ?? false }, summary, h("ol", {}, ...steps));
  element.addEventListener("toggle", () => expanded.set("plan", element.open));
  return h("section", { id: "plan", "aria-label": "Plan" }, element);
}
