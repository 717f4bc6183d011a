// The script of the chat page: displays the extension's messages, sends the user's actions, and keeps the draft and the
// scroll position over reloads.
import { Announcer } from "./announce";
import { acceptBar, header, planBar, reviewBar } from "./bars";
import { Composer } from "./composer";
import { h } from "./dom";
import { homeElement } from "./home";
import type { DraftView, FromView, Home, Posted, SessionView, ToView } from "./messages";
import { ClickGuard } from "./click_guard";
import { QueueList } from "./queue";
import type { RenderContext } from "./render";
import { Transcript } from "./transcript";

interface Kept {
  readonly draft: DraftView;
  readonly sessionId: string;
  readonly anchor?: { readonly id: string; readonly offset: number } | undefined;
  readonly expanded: readonly (readonly [string, boolean])[];
}

const KEEP_MS = 250;
const JUST_MS = 2_000; // maximum time from the keys of New Session, which focus the page, to the message `making`
const NO_DRAFT: DraftView = { text: "", attachments: [] };

const host = acquireVsCodeApi<Kept>();
const send = (message: FromView) => {
  const posted: Posted = { ...message, of: isForNext ? "" : (session?.id ?? "") };
  host.postMessage(posted);
};
const kept = host.getState();

const expanded = new Map<string, boolean>(kept?.expanded ?? []);
const context: RenderContext = { send, expanded, isReadOnly: () => session?.readOnly === true, sendAgain: () => { composer.sendAgain(); }, focusPrompt: () => { composer.focus(); }, fold: (agentId: string, isHidden: boolean) => { transcript.fold(agentId, isHidden); }, toggleCall: (callId: string) => { transcript.toggleCall(callId); } };
const transcript = new Transcript(context);
const announcer = new Announcer();
const composer = new Composer({ send, onSent: () => { transcript.follow(); }, onDraftChange: keepDraft, say: (text) => { announcer.say(text); } });
const queue = new QueueList(send);
const clickGuard = new ClickGuard(window);
const top = h("div", { id: "top" });
const bars = h("div", { id: "bars" });
let session: SessionView | undefined;
let shownBars = "";
let keeping: ReturnType<typeof setTimeout> | undefined;
let reportedAttachments = 0;
let wasTyped = false;
/** Whether a session is being created and the prompt was empty before; text typed now is then for the new session. */
let isForNext = false;
/** Time when the page last got the focus with an empty prompt. */
let emptyAtMs = -JUST_MS;

function keep(): void {
  clearTimeout(keeping);
  keeping = undefined;
  const { text, attachments } = composer.draft;
  // Omit images, because they are too large for the webview state. The server stores them.
  const small = attachments.filter(({ part }) => part.type !== "image");
  host.setState({ draft: { text, attachments: small }, sessionId: session?.id ?? "", anchor: transcript.anchor, expanded: [...expanded] });
}

function keepSoon(): void {
  keeping ??= setTimeout(keep, KEEP_MS);
}

function isEmpty({ text, attachments }: DraftView): boolean {
  return text === "" && attachments.length === 0;
}

/** Sends the draft at once, because a reload may follow the last key. */
function sendDraft(isLast: boolean): void {
  const { text, attachments } = composer.draft;
  const isSame = reportedAttachments === composer.attachmentsRevision;
  reportedAttachments = composer.attachmentsRevision;
  const posted: Posted = { type: "draft", text, attachments: isSame ? null : attachments, isLast, of: session?.id ?? "" };
  host.postMessage(posted);
}

function keepDraft(): void {
  wasTyped = true;
  sendDraft(false);
  keep();
}

function showBars(now: SessionView): void {
  // Compare only the displayed values: a stream often changes the usage, and a redraw would lose the focus.
  const encoded = JSON.stringify([now.id, now.title, now.activity, now.readOnly, now.owner, now.isWalkthrough, now.hunks, now.plan, now.canAcceptPlan]);
  if (encoded === shownBars) return;
  shownBars = encoded;
  const focused = document.activeElement instanceof HTMLElement && bars.contains(document.activeElement) ? document.activeElement.dataset["action"] : undefined;
  const redraw = (): void => { shownBars = ""; showBars(now); };
  top.replaceChildren(...present(header(now, () => { transcript.goToQuestion(); }, send)));
  bars.replaceChildren(...present(planBar(now, context), acceptBar(now, send), reviewBar(now, context, redraw)));
  if (focused !== undefined) bars.querySelector<HTMLElement>(`[data-action="${CSS.escape(focused)}"]`)?.focus();
}

function showSession(now: SessionView): void {
  if (session && session.activity !== now.activity) announcer.announceActivity(now.activity);
  session = now;
  composer.show(now);
  transcript.showNow(now);
  queue.show(now.queue);
  showBars(now);
  document.body.classList.toggle("busy", now.activity === "working");
  document.body.classList.toggle("read-only", now.readOnly);
}

function present(...elements: readonly (HTMLElement | null)[]): HTMLElement[] {
  return elements.filter((element) => element !== null);
}

function showWelcome(): void {
  const shown = document.getElementById("welcome");
  if (!transcript.isEmpty) shown?.remove();
  else if (!shown) {
    transcript.showInstead(homeElement(undefined, send, prompt));
    send({ type: "home" });
  }
}

function showHome(home: Home): void {
  document.getElementById("welcome")?.replaceWith(homeElement(home, send, prompt));
}

/** Inserts an example into the prompt, before text that the user has already typed. */
function prompt(text: string): void {
  const { draft } = composer;
  composer.restore({ text: draft.text.trim() === "" ? text : `${text}\n${draft.text}`, attachments: draft.attachments });
  composer.focus();
  keepDraft();
}

/** Merges the stored draft of an opened session with the page's prompt, which may be newer. */
function mergeDrafts(theirs: DraftView, now: string): DraftView {
  const own = composer.draft;
  const isOfIt = kept?.sessionId === now;
  if (isOfIt && (wasTyped || own.text.startsWith(theirs.text))) {
    // After a reload the page has only newly pasted images, so add those of the stored draft.
    return { text: own.text, attachments: [...theirs.attachments.filter(({ part }) => part.type === "image"), ...own.attachments] };
  }
  if (!wasTyped) return theirs;
  return { text: [theirs.text, own.text].filter((text) => text !== "").join("\n"), attachments: [...theirs.attachments, ...own.attachments] };
}

/** Shows the draft of a newly displayed session, or keeps the prompt if its text is meant for that session. */
function showDraft(draft: DraftView | null, before: string | undefined, now: string): void {
  if (before === now) return;
  const isFirst = before === undefined || before === "";
  const isCarried = (isFirst || isForNext) && !draft && !isEmpty(composer.draft);
  isForNext = false;
  if (!isCarried) {
    const shown = isFirst && draft ? mergeDrafts(draft, now) : (draft ?? NO_DRAFT);
    composer.restore(shown);
    if (draft && shown.text !== draft.text) sendDraft(false);
    return;
  }
  if (before === undefined) return;
  // The text moved to the new session, so clear the draft of the old one.
  const left: Posted = { type: "draft", text: "", attachments: [], isLast: true, of: before };
  host.postMessage(left);
  sendDraft(false);
}

/** Reports that this message is displayed, so that the next one can be sent. */
function reportDrawn(): void {
  requestAnimationFrame(() => { send({ type: "drawn" }); });
}

function reset({ session: now, items, first, more, draft }: Extract<ToView, { type: "reset" }>): void {
  const before = session?.id;
  session = undefined;
  announcer.forget();
  showSession(now);
  showDraft(draft, before, now.id);
  const anchor = before === now.id ? transcript.anchor : before === undefined && kept?.sessionId === now.id ? kept.anchor : undefined;
  transcript.reset(items, first, more, () => {
    if (anchor) transcript.restore(anchor);
    reportDrawn();
  });
}

function update({ session: now, items, appends }: Extract<ToView, { type: "update" }>): void {
  if (now) showSession(now);
  transcript.update(items, appends);
  announcer.update(items, appends);
  reportDrawn();
}

/** Receives a message. After one that cannot be displayed the page asks for the next, or it would never change again. */
function receiveAny(message: ToView): void {
  try {
    receive(message);
  } catch (error) {
    if (message.type === "reset" || message.type === "update") reportDrawn();
    throw error;
  }
}

function receive(message: ToView): void {
  switch (message.type) {
    case "reset":
      reset(message);
      break;
    case "update":
      update(message);
      break;
    case "earlier":
      transcript.insertEarlier(message.items, message.first, message.more);
      break;
    case "later":
      transcript.appendLater(message.items, message.isEnd);
      break;
    case "attach":
      composer.attach(message.attachment);
      break;
    case "focus":
      composer.focus();
      break;
    case "making":
      isForNext = isEmpty(composer.draft) || performance.now() - emptyAtMs < JUST_MS;
      break;
    case "pickModel":
      composer.toolbar.pickModel();
      break;
    case "offers":
      composer.offer(message.request, message.offers);
      break;
    case "models":
      composer.toolbar.showModels(message.models);
      break;
    case "along":
      composer.showAlong(message.along);
      break;
    case "home":
      showHome(message.home);
      break;
    case "unsent":
      // Keep text that was typed after sending; it follows the text that was not sent.
      composer.restore({ text: [message.text, composer.draft.text].filter((text) => text !== "").join("\n"), attachments: [...message.attachments, ...composer.draft.attachments] });
      keepDraft();
      break;
  }
  showWelcome();
  keepSoon();
}

document.getElementById("app")?.append(top, transcript.element, bars, queue.element, composer.element, announcer.element);
composer.restore(kept?.draft ?? NO_DRAFT);
transcript.element.addEventListener("scroll", keepSoon, { passive: true, capture: true });
window.addEventListener("message", ({ data }: MessageEvent<ToView>) => { clickGuard.drawAfterClick(() => { receiveAny(data); }); });
window.addEventListener("focus", () => {
  emptyAtMs = isEmpty(composer.draft) ? performance.now() : -JUST_MS;
  send({ type: "keyboard", isHere: true });
});
window.addEventListener("blur", () => { send({ type: "keyboard", isHere: false }); });
for (const goes of ["pagehide", "beforeunload"]) window.addEventListener(goes, () => { sendDraft(true); keep(); });
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState !== "hidden") return;
  sendDraft(true);
  keep();
});
send({ type: "ready" });
if (document.hasFocus()) send({ type: "keyboard", isHere: true });
