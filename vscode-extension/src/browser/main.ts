// The chat page in a browser, connected to `agent-ls panel`. Does the work that the extension does for the page
// in VS Code.
import { onPosted, postToPage } from "./api";
import "../webview/main";
import { Catalog } from "../chat/catalog";
import { ChatPage } from "../chat/chat_page";
import { Inbox } from "../chat/inbox";
import { isReadOnly } from "../sessions/owners";
import type { AccessData, AgentEvent, Configuration } from "../connection/protocol";
import { problemOf } from "../connection/protocol";
import { Sessions } from "../sessions/session";
import { findActivity } from "../snapshot/snapshot";
import { nameInWorktree, pathOf } from "../connection/uris";
import { h } from "../webview/dom";
import { PanelConnection } from "./connection";
import { browserHost, takeOver } from "./host";
import { ReviewDialog } from "./review";
import { type Listed, SessionList, isRunning } from "./session_list";

const LIST_MS = 2_000;
const SESSION_KEY = "agent-ls.session";

interface ListResult {
  readonly sessions: readonly Listed[];
  /** The folder of new sessions. */
  readonly folder: string;
}

let folder: string | undefined;
let listing = false;
let defaults: Configuration = {};

const connection = new PanelConnection(() => sessions.currentId);
const sessions: Sessions = new Sessions(connection, {
  newKey: () => crypto.randomUUID(),
  folder: () => folder,
  configuration: () => ({}),
  defaults: () => defaults,
  log: (text) => { console.warn(text); },
});

function relative(path: string): string {
  const inWorktree = nameInWorktree(path, sessions.snapshot.session.worktree);
  if (inWorktree !== undefined) return inWorktree;
  const base = pathOf(sessions.snapshot.session.workspaceFolder ?? "").replace(/\/+$/, "");
  if (base === "" || !path.startsWith(base)) return path;
  if (path === base) return base.split("/").at(-1) ?? base;
  return path.startsWith(`${base}/`) ? path.slice(base.length + 1) : path;
}

function inBackground(work: Promise<unknown>): void {
  work.catch((error: unknown) => {
    const { message, hint } = problemOf(error);
    sessions.showNotice("error", message, hint);
  });
}

const list = new SessionList((info) => { inBackground(open(info)); }, () => {
  list.toggle(false);
  inBackground(sessions.create().then(() => { page.postWhenReady({ type: "focus" }); }));
});
const review = new ReviewDialog(sessions, connection, relative);
const catalog = new Catalog(sessions);
const host = browserHost({
  sessions, connection, catalog, review, list, relative,
  learnDefaults: (known) => {
    defaults = known;
    sessions.onSettings();
  },
});
const page = new ChatPage(sessions, new Inbox(sessions, catalog, host, { relative }), { relative }, {
  post: postToPage,
  keepDraft: () => undefined, // the page itself keeps the draft over a reload
  inBackground,
  onReady: () => undefined,
});

/** Opens a listed session. A stored one has no owner, so this panel takes it over. */
async function open(info: Listed): Promise<void> {
  list.toggle(false);
  if (isRunning(info)) await sessions.open(info.id);
  else await takeOver(sessions, connection, info.id);
  page.postWhenReady({ type: "focus" });
  await refresh();
}

async function refresh(): Promise<void> {
  if (listing || !connection.isRunning || document.visibilityState === "hidden") return;
  listing = true;
  try {
    const found = (await connection.call("panel/sessions", {})) as ListResult;
    folder = found.folder;
    list.show(found.sessions, sessions.currentId, Date.now());
    await followOwner(found.sessions);
  } catch {
    // The connection was lost, which the page displays. The next refresh after a reconnect lists the sessions.
  } finally {
    listing = false;
  }
}

/** Subscribes to the displayed session again if it had no owner and a program has opened it since. */
async function followOwner(listed: readonly Listed[]): Promise<void> {
  const { session } = sessions.snapshot;
  const now = listed.find(({ id }) => id === sessions.currentId);
  if (now && isRunning(now) && isReadOnly(sessions.snapshot) && !session.owner) await sessions.open(now.id);
}

function onEvent(event: AgentEvent): void {
  const { access, owner } = event.kind === "access" ? (event.data as AccessData) : {};
  // Subscribe again, because the new owner may allow this page to answer requests too.
  if (access === "readOnly" && owner && event.sessionId === sessions.currentId) inBackground(sessions.open(event.sessionId));
  else sessions.onEvent(event);
}

function showTitle(): void {
  const { title = "" } = sessions.snapshot.session;
  const asks = findActivity(sessions.snapshot) === "waiting" ? "● asks you · " : "";
  document.title = `${asks}${title === "" ? "agent-ls" : title}`;
}

const lost = h("p", { id: "lost", role: "status", hidden: true }, "The program of the panel does not answer. If the program has ended, run “agent-ls panel” again and open its new link.");

connection.onEvent = onEvent;
connection.onState = (isConnected) => {
  lost.hidden = isConnected;
  if (!isConnected) {
    sessions.onExit();
    return;
  }
  const id = sessions.currentId ?? sessionStorage.getItem(SESSION_KEY) ?? undefined;
  inBackground((id === undefined ? Promise.resolve(false) : sessions.open(id)).then((isOpen) => {
    if (!isOpen) list.toggle(true);
    return refresh();
  }));
};
sessions.listen(({ switched }) => {
  showTitle();
  if (switched !== true) return;
  if (sessions.currentId !== undefined) sessionStorage.setItem(SESSION_KEY, sessions.currentId);
  document.body.classList.toggle("no-session", sessions.currentId === undefined);
  inBackground(refresh());
});
document.body.classList.add("no-session");
document.body.prepend(h("header", { id: "panel-bar" }, list.button, lost), list.element);
document.body.append(
  h("p", { id: "choose" }, "Choose a session to read it and to decide about its changes, or start a new session. Changes are made in the files of its project; sessions of your editor stay in your editor."),
  h("div", { id: "toast", role: "status", hidden: true }),
);
onPosted((message) => { page.receive(message); });
connection.connect();
setInterval(() => { inBackground(refresh()); }, LIST_MS);
document.addEventListener("visibilitychange", () => { inBackground(refresh()); });
