// Performs the actions of the chat page in a browser. There is no editor, so opening a file copies its path, and
// inserting code copies the code. API keys and trust of folders can only be set in the editor or a terminal.
import type { HostAction, PageHost } from "../chat/inbox";
import type { Catalog } from "../chat/catalog";
import { examplesFor } from "../chat/home_model";
import { CLIENT_COMMANDS } from "../chat/slash";
import { targetOf } from "../chat/target";
import { type Configuration, problemOf } from "../connection/protocol";
import type { Sessions } from "../sessions/session";
import { Library } from "../sessions/library";
import { planOf } from "../snapshot/snapshot";
import { pathOf } from "../connection/uris";
import { h } from "../webview/dom";
import type { HostCommand, Offer } from "../webview/messages";
import type { PanelConnection } from "./connection";
import { askLine, askUser, showToast } from "./dialogs";
import { Mentions } from "./mentions";
import { type ReviewDialog, judge, openHunks } from "./review";
import { rollBack } from "./rollback";
import type { SessionList } from "./session_list";

const ELSEWHERE: Readonly<Record<HostAction, string>> = {
  setKey: "API keys cannot be entered in the browser. Set a key in your editor, or run “agent-ls keys set” in a terminal.",
  manageTrust: "Trust this folder in your editor, or run “agent-ls trust add” in the folder.",
  choosePython: "Change this setting in your editor.",
  showLog: "You find the log in your editor, and in the folder that “agent-ls doctor” reports.",
};

interface Parts {
  readonly sessions: Sessions;
  readonly connection: PanelConnection;
  readonly catalog: Catalog;
  readonly review: ReviewDialog;
  readonly list: SessionList;
  readonly relative: (path: string) => string;
  /** Called with what the server chooses for the next session. */
  readonly learnDefaults: (known: Configuration) => void;
}

/** Takes a session over for the panel. Asks the user before a forced take-over, if the owner does not answer. */
export async function takeOver(sessions: Sessions, connection: PanelConnection, id: string): Promise<void> {
  const library = new Library(connection, () => crypto.randomUUID());
  try {
    await library.takeOver(id, false);
  } catch (error) {
    const { kind, message, hint } = problemOf(error);
    if (kind !== "owner_silent") {
      sessions.showNotice("error", message, hint);
      return;
    }
    const detail = "The other program does not answer. After the take-over, anything that the agent still does there is lost.";
    if ((await askUser("Take the session over by force?", [detail], [{ label: "Take It by Force" }])) === undefined) return;
    await library.takeOver(id, true);
  }
  await sessions.open(id);
}

async function acceptPlan(sessions: Sessions): Promise<void> {
  const plan = planOf(sessions.snapshot);
  if (plan === undefined) return;
  const field = h("textarea", { class: "plan", "aria-label": "The plan", rows: 16 });
  field.value = plan;
  const chosen = await askUser("Edit and accept the plan", [field], [
    { label: "Carry Out, Ask before Edits", isPrimary: true },
    { label: "Carry Out, Ask before Commands Only" },
  ]);
  if (chosen !== undefined) await sessions.acceptPlan(field.value, chosen === 0 ? "ask" : "edits");
}

async function openLink(url: string): Promise<void> {
  if (!/^https?:\/\//i.test(url)) return;
  const chosen = await askUser("Open this address in a new tab?", [h("p", {}, h("code", {}, url))], [{ label: "Open" }]);
  if (chosen !== undefined) window.open(url, "_blank", "noopener,noreferrer");
}

async function copyPath(target: string, relative: (path: string) => string): Promise<void> {
  const { name, lines } = targetOf(target);
  const path = relative(pathOf(name));
  const place = lines ? `${path}:${lines[0] + 1}` : path;
  try {
    await navigator.clipboard.writeText(place);
    showToast(`Copied ${place}. Open it in your editor.`);
  } catch {
    showToast(place);
  }
}

export function browserHost({ sessions, connection, catalog, review, list, relative, learnDefaults }: Parts): PageHost {
  const mentions = new Mentions(sessions);
  const decideAll = (verdict: "keep" | "undo") => judge(sessions, openHunks(sessions).map(({ id }) => id), verdict);
  const commands: Readonly<Record<HostCommand, () => Promise<unknown> | undefined>> = {
    newSession: () => sessions.create(),
    sessions: () => { list.toggle(true); list.focus(); return undefined; },
    demo: () => sessions.create({ provider: "walkthrough" }),
    configure: () => { showToast("Change these settings in your editor."); return undefined; },
    nextHunk: () => { review.show(); return undefined; },
    previousHunk: () => { review.show(openHunks(sessions).at(-1)?.id); return undefined; },
    reviewAll: () => { review.show(); return undefined; },
    guidedReview: () => { review.show(); return undefined; },
    keepAll: () => decideAll("keep"),
    undoAll: () => decideAll("undo"),
    compact: () => sessions.requestForCurrent("agent/compact", (change) => change),
    takeOver: () => (sessions.currentId === undefined ? undefined : takeOver(sessions, connection, sessions.currentId)),
    plan: () => acceptPlan(sessions),
  };
  return {
    runCommand: async (name) => { await commands[name](); },
    act: async (action) => { await askUser(ELSEWHERE[action], [], []); },
    findOffers: (trigger, query) => (trigger === "@" ? mentions.offers(query) : slashCommands(catalog, query)),
    choose: (token) => Promise.resolve(mentions.choose(token)),
    collectHome: async () => {
      const models = await catalog.models(false);
      if (models) learnDefaults({ mode: models.defaultMode });
      const { provider } = sessions.snapshot.session;
      const theirs = models?.providers.find(({ id }) => id === (provider ?? models.defaultProvider));
      const examples = examplesFor({ file: "", hasTests: true, hasGit: true, hasReadme: true });
      return { examples, recents: [], key: theirs ? (theirs.hasKey ? "set" : "missing") : "unknown", provider: theirs?.name ?? "" };
    },
    askLine,
    openSession: async (id) => { await sessions.open(id); },
    shareActiveFile: () => undefined,
    insert: async (text) => { await navigator.clipboard.writeText(text); showToast("Copied. Paste the text in your editor."); },
    judge: (hunkIds, verdict) => judge(sessions, hunkIds, verdict),
    compare: (hunkId) => { review.show(hunkId); return Promise.resolve(); },
    openFile: (target) => copyPath(target, relative),
    openLink,
    showTerminal: (callId) => {
      const output = sessions.snapshot.calls.get(callId)?.part.text ?? "";
      void askUser("Output of the command", [h("pre", { class: "output", tabindex: 0 }, output === "" ? "The command has not printed anything yet." : output)], []);
    },
    kill: async (terminalId) => { await sessions.requestForCurrent("agent/terminalKill", (change) => ({ ...change, terminalId })); },
    showServers: async () => { await askUser("Switch MCP servers on and off in your editor.", [], []); },
    openMemory: async () => { await askUser("The notes are in .agent-ls/memory.md of the project.", [], []); },
    rollBack: (turnId) => rollBack(sessions, turnId, relative),
  };
}

const ELSEWHERE_COMMANDS: readonly string[] = ["mcp", "memory"];

async function slashCommands(catalog: Catalog, query: string): Promise<Offer[]> {
  const own = Object.entries(CLIENT_COMMANDS).filter(([name]) => !ELSEWHERE_COMMANDS.includes(name))
    .map(([name, { description, ...more }]) => ({ name, description, takesWords: "hint" in more, isOwn: true }));
  const theirs = (await catalog.commands()).map(({ name, description }) => ({ name, description, takesWords: true, isOwn: false }));
  return [...own, ...theirs].filter(({ name }) => name.startsWith(query)).map(({ name, description, takesWords, isOwn }) =>
    ({ icon: "terminal", label: `/${name}`, detail: description, insert: `/${name} `, token: null, runs: isOwn && !takesWords }));
}
