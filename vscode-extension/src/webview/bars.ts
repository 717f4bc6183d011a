// The bars around the transcript: what the session is, what waits to be reviewed, the plan, and the first words.
import { h, icon, plural, textButton } from "./dom";
import type { FromView, HostCommand, SessionView } from "./messages";
import type { RenderContext } from "./render";

type Send = (message: FromView) => void;

function command(send: Send, name: HostCommand): () => void {
  return () => { send({ type: "command", command: name }); };
}

const DOING: Record<SessionView["activity"], string> = { working: "working", waiting: "", idle: "", closed: "closed" };

export function header(session: SessionView, toQuestion: () => void, send: Send): HTMLElement | null {
  if (session.id === "") return null;
  const proposes = !session.readOnly && session.activity === "working" && session.hunks.proposed > 0;
  const badges = [session.isWalkthrough ? "walkthrough" : "", proposes ? "" : DOING[session.activity]];
  const asks = session.activity === "waiting" && textButton("asks you", toQuestion, { class: "badge", title: "Show the question" });
  const waits = proposes && textButton("asks you", command(send, "nextHunk"), { class: "badge", title: "Show the change that it proposes" });
  return h(
    "header",
    { id: "session" },
    h("h1", { title: session.title }, session.title === "" ? "New session" : session.title),
    ...badges.filter((badge) => badge !== "").map((badge) => h("span", { class: "badge" }, badge)),
    asks,
    waits,
    session.readOnly && h("span", { class: "badge", title: `Owned by ${session.owner}.` }, "read only"),
    session.readOnly && textButton("Take Over", command(send, "takeOver"), { class: "link", "data-action": "takeOver", title: `It is open in ${session.owner}. Its turn ends there, or waits on here.` }),
  );
}

export function reviewBar({ hunks }: SessionView, send: Send): HTMLElement | null {
  if (hunks.count === 0) return null;
  return h(
    "section",
    { id: "review", "aria-label": "Changes to review" },
    icon("diff-multiple"),
    h("span", { class: "what" }, h("span", {}, plural(hunks.count, "change")), h("span", { class: "dim" }, ` in ${plural(hunks.files, "file")}`)),
    textButton("Next", command(send, "nextHunk"), { class: "link", "data-action": "next" }),
    textButton("Keep All", command(send, "keepAll"), { class: "link", "data-action": "keep" }),
    textButton("Undo All", command(send, "undoAll"), { class: "link", "data-action": "undo" }),
  );
}

const STEP_ICONS = { pending: "circle-large-outline", active: "arrow-circle-right", done: "pass-filled" } as const;
const STEP_WORDS = { pending: "to do", active: "now", done: "done" } as const;

/** The plan while it is being followed; done and idle, it has had its time. */
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

export function welcome(send: Send): HTMLElement {
  return h(
    "section",
    { id: "welcome" },
    h("h1", {}, "agent-ls"),
    h("p", {}, "Say below what should change in this project. Edits land in your files and wait there for you to keep or undo them."),
    h(
      "ul",
      {},
      h("li", {}, textButton("Go on with a session…", command(send, "sessions"), { class: "link" })),
      h("li", {}, textButton("Try the walkthrough", command(send, "demo"), { class: "link" }), " — no key needed"),
    ),
    h("p", { class: "dim" }, h("kbd", {}, "Enter"), " sends, and steers while it works · ", h("kbd", {}, "Shift+Enter"), " new line · ", h("kbd", {}, "Escape"), " stops · ", h("kbd", {}, "@"), " names files and more · ", h("kbd", {}, "/"), " commands"),
  );
}
