// The chat of VS Code without its editor: the sessions, the inbox and the page of the extension, with a real server.
// Arguments: the folder, the configuration as JSON, and the command of the server. Reads lines {"say": TEXT},
// {"press": LABEL} and {"open": SESSION}, and writes what is displayed, as one line of JSON, each time that the page has
// drawn.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { StreamMessageReader, StreamMessageWriter, createMessageConnection } from "vscode-jsonrpc/node";
import { Catalog } from "../../chat/catalog";
import { ChatPage } from "../../chat/chat_page";
import { Inbox, type PageHost } from "../../chat/inbox";
import { ABILITIES, type AgentEvent, type Configuration, EVENT_METHOD, type Method, type Requests } from "../../connection/protocol";
import type { Connection } from "../../sessions/interfaces";
import { Sessions } from "../../sessions/session";
import { WebviewPage } from "../support/webview_page";

const [folder = "", choice = "{}", program = "", ...args] = process.argv.slice(2);
const uri = pathToFileURL(folder).href;
const configuration = JSON.parse(choice) as Configuration;

const server = spawn(program, args, { cwd: folder, stdio: ["pipe", "pipe", "inherit"] });
const wire = createMessageConnection(new StreamMessageReader(server.stdout), new StreamMessageWriter(server.stdin));
const connection: Connection = {
  isRunning: true,
  request: async <M extends Method>(method: M, params: Requests[M]["params"]) => wire.sendRequest<Requests[M]["result"]>(method, params),
  notify: (method, params) => { void wire.sendNotification(method, params); },
};
let keys = 0;
const sessions = new Sessions(connection, { newKey: () => `key-${++keys}`, folder: () => uri, configuration: () => configuration, log: () => undefined });
const catalog = new Catalog(sessions);
// The page's own actions need no host. What a host does is for the tests in the editor.
const host = { collectHome: () => Promise.resolve({ examples: [], recents: [], key: "unknown", provider: "" }) } as unknown as PageHost;
const view = new WebviewPage(undefined, (message) => { page.receive(message); });
const page = new ChatPage(sessions, new Inbox(sessions, catalog, host, { relative: (path) => path }), { relative: (path) => path }, {
  post: (message) => { view.receive(message); display(); },
  keepDraft: () => undefined,
  inBackground: (work) => { work.catch((error: unknown) => { console.error(error); }); },
  onReady: () => undefined,
});

/** Writes the paragraphs of the transcript, the labels of its buttons, and whether a message can be sent. */
function display(): void {
  const { document } = view;
  const lines = [...document.querySelectorAll("#transcript article")].flatMap((article) => [...article.querySelectorAll("*")])
    .filter((element) => element.children.length === 0 || element.tagName === "P" || [...element.childNodes].some((node) => node.nodeType === 3))
    .map((element) => element.textContent.trim()).filter((words) => words !== "");
  const buttons = [...document.querySelectorAll("#transcript button")].map((button) => button.textContent.trim());
  const { state } = sessions.snapshot;
  console.log(JSON.stringify({ lines, buttons, session: sessions.currentId ?? "", isIdle: state !== "PROCESSING" && sessions.snapshot.sending === undefined }));
}

async function main(): Promise<void> {
  wire.onNotification(EVENT_METHOD, (event: AgentEvent) => { sessions.onEvent(event); });
  wire.onRequest("workspace/configuration", () => [null]);
  wire.onRequest("client/registerCapability", () => null);
  wire.listen();
  const workspace = { configuration: true, workspaceFolders: true };
  const capabilities = { workspace, experimental: { agentLs: { ...ABILITIES, terminal: false, language: false } } };
  await wire.sendRequest("initialize", { processId: process.pid, rootUri: uri, workspaceFolders: [{ uri, name: "project" }], capabilities });
  await wire.sendNotification("initialized", {});
  for await (const line of createInterface({ input: process.stdin })) {
    const { say, press, open } = JSON.parse(line) as { say?: string; press?: string; open?: string };
    if (open !== undefined) void sessions.open(open);
    if (press !== undefined) view.button(press).click();
    if (say === undefined) continue;
    view.type(say);
    view.press("Enter");
  }
  await wire.sendRequest("shutdown");
  await wire.sendNotification("exit");
  process.exit(0);
}

void main();
