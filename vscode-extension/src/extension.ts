// Activation: creates the parts of the extension. Displays nothing and starts no server before the user asks for it,
// except if a session was unfinished when the window was closed or reloaded.
import { randomUUID } from "node:crypto";
import * as vscode from "vscode";
import { Catalog } from "./chat/catalog";
import { ChatBadge } from "./status/badge";
import { ApprovalPicker } from "./approvals/picker";
import { editorHost } from "./chat/editor_host";
import { HomePage } from "./chat/home";
import { Inbox } from "./chat/inbox";
import { Offers } from "./chat/offers";
import { ChatPanel } from "./chat/panel";
import { Plans } from "./chat/plan";
import { Client } from "./connection/client";
import { type ClientServices, answerClientRequest } from "./connection/client_requests";
import { registerCommands } from "./commands/commands";
import { Contexts } from "./commands/context_keys";
import type { Ctx } from "./ctx";
import { AskInPlace } from "./asking/ask_in_place";
import { AgentActions } from "./context/code_actions";
import { DiagnosticsReporter } from "./context/diagnostics";
import { EditorStateReporter } from "./context/editor_state";
import { OutsideActions } from "./context/outside";
import { TerminalTexts } from "./context/terminal_text";
import { CommitMessages } from "./git/commit_message";
import { inBackground, makeLog } from "./logger";
import { Keys } from "./settings/api_keys";
import { NativeChat } from "./native/participant";
import { hideErrors, showError } from "./status/errors";
import { Notifier } from "./status/notify";
import { UnexpectedEnds } from "./connection/recovery";
import { LastSession } from "./sessions/last_session";
import { ReviewCommands } from "./review/commands";
import { ReviewStore } from "./review/store";
import { ServerLocator } from "./server/locate";
import { Sessions } from "./sessions/session";
import { SessionCommands } from "./sessions/actions";
import { SECTION, readConfiguration } from "./settings/settings";
import { Status } from "./status/status_bar";
import { HostTerminals } from "./terminals/host";
import { type CommandRequests, Terminals } from "./terminals/terminals";

/** Returns the folder for a new session: the workspace folder of the active file, else the first workspace folder. */
function folderForNewSession(): string | undefined {
  const active = vscode.window.activeTextEditor?.document.uri;
  const own = active && vscode.workspace.getWorkspaceFolder(active);
  const all = vscode.workspace.workspaceFolders ?? [];
  const chosen = own?.uri.scheme === "file" ? own : all.find((each) => each.uri.scheme === "file");
  return chosen?.uri.toString();
}

/** Requests about the commands that the server runs. Return undefined or false if the request fails. */
function commandRequests(client: Client): CommandRequests {
  const isDone = (request: Promise<unknown>) => request.then(() => true, () => false);
  return {
    async read(sessionId, terminalId, offset) {
      if (!client.isRunning) return undefined;
      return client.request("agent/terminalOutput", { sessionId, terminalId, offset }).catch(() => undefined);
    },
    async type(sessionId, terminalId, data) {
      if (!client.isRunning) return false;
      return isDone(client.request("agent/terminalInput", { sessionId, clientKey: randomUUID(), terminalId, data }));
    },
    resize(sessionId, terminalId, columns, rows) {
      if (client.isRunning) void isDone(client.request("agent/terminalResize", { sessionId, clientKey: randomUUID(), terminalId, columns, rows }));
    },
  };
}

function connect(
  ctx: Ctx, reporters: readonly { restart(): void }[], keys: Keys, faces: ClientServices, status: () => Status,
): void {
  const { client, sessions, log } = ctx;
  const ends = new UnexpectedEnds();
  client.prepare = (send) => keys.sendAll(send);
  client.onStart = () => {
    hideErrors(sessions.snapshot);
    for (const reporter of reporters) reporter.restart();
  };
  sessions.listen(({ switched }) => {
    const { provider } = sessions.snapshot.session;
    if (switched === true && provider !== undefined) inBackground(log, keys.explain(provider));
  });
  client.onEvent = (event) => {
    if (event.kind === "client_request") answerClientRequest(client, log, event, faces);
    else sessions.onEvent(event);
  };
  const giveUp = async () => {
    status().showServerEnd();
    const restart = "Restart";
    const answer = await showError(`agent-ls: ${ends.description}`, restart, "Show Log");
    if (answer === undefined) return;
    ends.forget();
    await vscode.commands.executeCommand(answer === restart ? "agentLs.restart" : "agentLs.showLog");
  };
  client.onExit = (problem) => {
    sessions.onExit(problem);
    if (!problem || sessions.currentId === undefined) return;
    const delayMs = ends.add(Date.now());
    if (delayMs === undefined) inBackground(log, giveUp());
    else setTimeout(() => { if (!client.isRunning) inBackground(log, sessions.resume()); }, delayMs);
  };
}

/** The parts that deactivate() needs, because VS Code calls it without arguments. */
let running: { readonly client: Client; readonly panel: ChatPanel } | undefined;

export function activate(extension: vscode.ExtensionContext): void {
  const log = makeLog();
  const locator = new ServerLocator(extension, log);
  const client = new Client(() => locator.find(), log);
  const sessions = new Sessions(client, { newKey: randomUUID, folder: folderForNewSession, configuration: readConfiguration, log: (text) => { log.warn(text); } });
  const ctx: Ctx = { extension, log, client, sessions };
  const state = new EditorStateReporter(client);
  const problems = new DiagnosticsReporter(client);
  const keys = new Keys(extension, client, log);
  const hosts = new HostTerminals();
  connect(ctx, [state, problems], keys, { terminals: hosts, problems }, () => status);
  client.onProgress = locator.onProgress = (words) => { sessions.showProgress(words); };
  if (!vscode.workspace.isTrusted) sessions.showNotice("warn", "This folder is not trusted, so the agent does not start in it.", "The agent reads, edits and runs files of the folder.", ["manageTrust"]);

  const store = new ReviewStore(sessions);
  client.onMoved = (file) => { store.applyPositions(file); };
  const status = new Status(sessions, store);
  const review = new ReviewCommands(ctx, store);
  const terminals = new Terminals(sessions, hosts, extension.workspaceState, commandRequests(client));
  const catalog = new Catalog(sessions);
  const texts = new TerminalTexts();
  const offers = new Offers(sessions, catalog, texts, folderForNewSession);
  const home = new HomePage(ctx, catalog, () => keys.hasAny);
  const panel = new ChatPanel(ctx, new Inbox(sessions, catalog, editorHost({ sessions, review: review.actions, terminals, offers, home, share: (isShared) => { state.setSharing(isShared); } }), { relative: (path) => vscode.workspace.asRelativePath(path) }), () => state.activeAttachment);
  state.onChange = () => { panel.showAlong(); };
  const picker = new ApprovalPicker(sessions);
  const plans = new Plans(ctx.sessions);
  const library = new SessionCommands(ctx, randomUUID, () => panel.focus());
  const actions = new AgentActions(sessions, () => panel.reveal());
  const outside = new OutsideActions(sessions, texts, panel);
  const asking = new AskInPlace(sessions, catalog, new Offers(sessions, catalog, texts, folderForNewSession));
  const native = new NativeChat(sessions, vscode.Uri.joinPath(extension.extensionUri, "media", "icon.svg"));
  const more = [outside.commands, asking.commands, native.commands, new CommitMessages(client).commands];
  running = { client, panel };
  const lastSession = new LastSession(ctx, store);
  panel.onFirstShow = () => { lastSession.reopen(); };

  extension.subscriptions.push(
    log, client, state, problems, keys, home, store, review, terminals, hosts, panel, library, plans, actions, lastSession, texts, asking, native,
    new Contexts(sessions, store),
    status,
    new ChatBadge(sessions, store, panel),
    new Notifier(sessions, store, picker, terminals, () => panel.isVisible),
    registerCommands({ ctx, panel, review, terminals, library, picker, actions, keys, plans, more }),
  );
  inBackground(log, asking.getReady());
  extension.subscriptions.push(
    vscode.workspace.onDidGrantWorkspaceTrust(() => { sessions.forgetNotices(); }),
    vscode.workspace.onDidChangeConfiguration((change) => { if (change.affectsConfiguration(SECTION)) sessions.onSettings(); }),
  );
  if (lastSession.isUnfinished) lastSession.reopen();
}

export function deactivate(): Thenable<void> | undefined {
  running?.panel.flush(); // save the unsent prompt before the server ends
  return running?.client.stop();
}
