// The bars around the transcript: what the session is, what waits to be reviewed, what is queued, and the first words.
import { h, icon, plural, textButton } from "./dom";
import type { FromView, HostCommand, SessionView } from "./messages";

type Send = (message: FromView) => void;

function command(send: Send, name: HostCommand): () => void {
  return () => { send({ type: "command", command: name }); };
}

const DOING: Record<SessionView["activity"], string> = { working: "working", waiting: "", idle: "", closed: "closed" };

export function header(session: SessionView, toQuestion: () => void): HTMLElement | null {
  if (session.id === "") return null;
  const badges = [session.isWalkthrough ? "walkthrough" : "", session.readOnly ? "read only: another window owns it" : "", DOING[session.activity]];
  const asks = session.activity === "waiting" && textButton("asks you", toQuestion, { class: "badge", title: "Show the question" });
  return h(
    "header",
    { id: "session" },
    h("h2", {}, session.title === "" ? "New session" : session.title),
    ...badges.filter((badge) => badge !== "").map((badge) => h("span", { class: "badge" }, badge)),
    asks,
  );
}

export function reviewBar({ hunks }: SessionView, send: Send): HTMLElement | null {
  if (hunks.count === 0) return null;
  return h(
    "section",
    { id: "review", "aria-label": "Changes to review" },
    icon("diff"),
    h("span", {}, `${plural(hunks.count, "change")} in ${plural(hunks.files, "file")}`),
    h("span", { class: "grow" }),
    textButton("Next", command(send, "nextHunk"), { class: "link" }),
    textButton("Keep All", command(send, "keepAll"), { class: "link" }),
    textButton("Undo All", command(send, "undoAll"), { class: "link" }),
  );
}

export function queueList({ queue }: SessionView): HTMLElement | null {
  if (queue.length === 0) return null;
  return h("ol", { id: "queue", "aria-label": "Queued for when it is done" }, ...queue.map(({ text }) => h("li", {}, icon("clock"), text)));
}

export function welcome(send: Send): HTMLElement {
  return h(
    "section",
    { id: "welcome" },
    h("h2", {}, "agent-ls"),
    h("p", {}, "Say below what should change in this project. Edits land in your files and wait there for you to keep or undo them."),
    h(
      "ul",
      {},
      h("li", {}, textButton("Go on with a session…", command(send, "sessions"), { class: "link" })),
      h("li", {}, textButton("Try the walkthrough", command(send, "demo"), { class: "link" }), " — no key needed"),
    ),
    h("p", { class: "dim" }, h("kbd", {}, "Enter"), " sends, and steers while it works · ", h("kbd", {}, "Shift+Enter"), " new line · ", h("kbd", {}, "Escape"), " stops"),
  );
}
