// The chat's page: shows what the extension sends, sends what the user does, keeps draft and scroll over reloads.
import { header, queueList, reviewBar, welcome } from "./bars";
import { Composer, type Draft } from "./composer";
import { h } from "./dom";
import type { FromView, ItemView, SessionView, ToView } from "./messages";
import { Transcript } from "./transcript";

interface Kept {
  readonly draft: Draft;
  readonly sessionId: string;
  readonly anchor?: { readonly id: string; readonly offset: number } | undefined;
  readonly expanded: readonly (readonly [string, boolean])[];
}

const KEEP_MS = 250;

const host = acquireVsCodeApi<Kept>();
const send = (message: FromView) => { host.postMessage(message); };
const kept = host.getState();

const expanded = new Map<string, boolean>(kept?.expanded ?? []);
const transcript = new Transcript({ send, expanded });
const composer = new Composer({ send, keep });
const said = h("div", { class: "sr-only", role: "status", "aria-live": "polite" });
const top = h("div", { id: "top" });
const bars = h("div", { id: "bars" });
let session: SessionView | undefined;
let keeping: ReturnType<typeof setTimeout> | undefined;

function keep(): void {
  keeping ??= setTimeout(() => {
    keeping = undefined;
    const { text, attachments } = composer.draft;
    // Pictures are too large to be kept over a reload.
    const small = attachments.filter(({ part }) => part.type !== "image");
    host.setState({ draft: { text, attachments: small }, sessionId: session?.id ?? "", anchor: transcript.anchor, expanded: [...expanded] });
  }, KEEP_MS);
}

const WORDS: Record<SessionView["activity"], string> = { working: "The agent works.", waiting: "The agent asks you something.", idle: "The agent is done.", closed: "The session is closed." };

function showSession(now: SessionView): void {
  if (session && session.activity !== now.activity) said.textContent = WORDS[now.activity];
  const queue = queueList(now);
  session = now;
  composer.show(now);
  top.replaceChildren(...present(header(now, () => { transcript.toQuestion(); })));
  bars.replaceChildren(...present(reviewBar(now, send), queue));
  document.body.classList.toggle("busy", now.activity === "working");
}

function present(...elements: readonly (HTMLElement | null)[]): HTMLElement[] {
  return elements.filter((element) => element !== null);
}

function showWelcome(): void {
  const shown = document.getElementById("welcome");
  if (!transcript.isEmpty) shown?.remove();
  else if (!shown) transcript.element.append(welcome(send));
}

function announce(items: readonly ItemView[]): void {
  const asked = items.find((item) => item.kind === "approval" && item.status === "pending");
  if (asked?.kind === "approval") said.textContent = `The agent asks: ${asked.command === "" ? asked.summary : `run ${asked.command}`}`;
}

function receive(message: ToView): void {
  switch (message.type) {
    case "reset":
      session = undefined;
      showSession(message.session);
      transcript.reset(message.items, message.first);
      if (kept?.anchor && kept.sessionId === message.session.id) transcript.restore(kept.anchor);
      break;
    case "update":
      if (message.session) showSession(message.session);
      transcript.update(message.items, message.appends);
      announce(message.items);
      break;
    case "earlier":
      transcript.earlier(message.items, message.first);
      break;
    case "attach":
      composer.attach(message.attachment);
      break;
    case "focus":
      composer.focus();
      break;
    case "unsent":
      // What was typed meanwhile stays, after it.
      composer.restore({ text: [message.text, composer.draft.text].filter((text) => text !== "").join("\n"), attachments: [...message.attachments, ...composer.draft.attachments] });
      break;
  }
  showWelcome();
  keep();
}

document.getElementById("app")?.append(top, transcript.element, bars, composer.element, said);
composer.restore(kept?.draft ?? { text: "", attachments: [] });
transcript.element.addEventListener("scroll", keep, { passive: true });
window.addEventListener("message", ({ data }: MessageEvent<ToView>) => { receive(data); });
send({ type: "ready" });
