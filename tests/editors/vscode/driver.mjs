// Drives a real VS Code workbench (code-server in a headless browser) as a user would. Does not depend on agent-ls.
//
//   const server = await startServer({ vsix: ["agent-ls.vsix"] });
//   const workbench = await openWorkbench(server, { folder });
//   await workbench.runCommand("agent-ls: Open Chat");
//   const chat = await workbench.webview("agent-ls.agent-ls");
//
// Needs .ci/vscode-rig. Uses only 127.0.0.1; the browser cannot connect to other hosts. All state is in a temporary folder.
import { execFile, spawn } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";

const RIG = process.env.AGENT_LS_VSCODE_RIG;
const NODE = path.join(RIG, "node/bin/node");
const CODE_SERVER = path.join(RIG, "npm/node_modules/code-server/out/node/entry.js");
const { chromium } = createRequire(path.join(RIG, "npm/package.json"))("playwright-core");
const POLL_MS = 50;
const AGAIN_MS = 3_000; // an action without effect after this time is repeated
export const DEADLINE_MS = 120_000; // ends a test that hangs

const QUIET_SETTINGS = {
  "chat.disableAIFeatures": true, // hides the workbench's own chat, which would be in the pictures
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
  "workbench.enableExperiments": false,
  "telemetry.telemetryLevel": "off",
  "update.mode": "none",
  "extensions.autoCheckUpdates": false,
  "extensions.autoUpdate": false,
  "extensions.ignoreRecommendations": true,
  "files.autoSave": "off",
  "git.openRepositoryInParentFolders": "never",
  "terminal.integrated.gpuAcceleration": "off", // so that the text of a terminal is in the DOM
  "window.dialogStyle": "custom",
  "editor.cursorBlinking": "solid",
  "workbench.reduceMotion": "on",
};

/**
 * Starts a server. vsix: packages to install. settings: user settings. machine: settings of the remote machine, from
 * where VS Code reads settings of scope "machine". trust: enable workspace trust, so that the folder is untrusted.
 */
export async function startServer({ vsix = [], settings = {}, machine = {}, env = {}, trust = false } = {}) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "agent-ls-vscode-"));
  const write = (place, content) => {
    const file = path.join(dir, place);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, JSON.stringify(content));
  };
  write("data/User/settings.json", { ...QUIET_SETTINGS, ...settings });
  write("data/Machine/settings.json", machine);
  fs.mkdirSync(path.join(dir, "home"));
  const probe = path.join(dir, "probe.sock");
  // No extension gallery, so that nothing is looked up on the network.
  const environment = { ...process.env, HOME: path.join(dir, "home"), RIG_PROBE_SOCKET: probe, EXTENSIONS_GALLERY: "{}", ...env };
  for (const name of ["VSCODE_IPC_HOOK_CLI", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"]) delete environment[name];
  const base = [CODE_SERVER, "--config", path.join(dir, "config.yaml"), "--user-data-dir", path.join(dir, "data"), "--extensions-dir", path.join(dir, "extensions")];
  const files = [path.join(RIG, "probe.vsix"), ...vsix].flatMap((file) => ["--install-extension", path.resolve(file)]);
  await promisify(execFile)(NODE, [...base, ...files], { env: environment });

  const logFile = path.join(dir, "server.log");
  const log = fs.openSync(logFile, "w");
  const options = [
    "--auth", "none", "--bind-addr", "127.0.0.1:0", "--disable-telemetry", "--disable-update-check", "--disable-getting-started-override", "--disable-proxy",
    "--reconnection-grace-time", "3", // seconds; otherwise the extension host of a closed window runs on for hours
    ...(trust ? [] : ["--disable-workspace-trust"]),
  ];
  const child = spawn(NODE, [...base, ...options], { env: environment, stdio: ["ignore", log, log] });
  const exited = new Promise((done) => child.once("exit", done));
  const url = await until(() => {
    const text = fs.readFileSync(logFile, "utf8");
    if (child.exitCode !== null) throw new Fatal(`code-server did not start:\n${text}`);
    return /listening on (http:\/\/127\.0\.0\.1:\d+)\//.exec(text)?.[1];
  }, "code-server to listen");

  return {
    url,
    dir,
    probe,
    pid: child.pid,
    /** Returns the log files of extensions, output channels and language clients, by name. */
    logs() {
      const root = path.join(dir, "data/logs");
      const names = fs.existsSync(root) ? fs.readdirSync(root, { recursive: true }).filter((name) => name.endsWith(".log")) : [];
      return Object.fromEntries(names.map((name) => [name, fs.readFileSync(path.join(root, name), "utf8")]));
    },
    async stop() {
      const family = descendants(child.pid); // extension hosts run on for seconds after the server has ended
      child.kill("SIGTERM");
      await Promise.race([exited, pause(5_000).then(() => child.kill("SIGKILL"))]);
      for (const signal of ["SIGTERM", "SIGKILL"]) {
        for (const pid of family.filter(isAlive)) kill(pid, signal);
        for (let n = 0; n < 40 && family.some(isAlive); n += 1) await pause(POLL_MS);
      }
      fs.rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
}

/** Opens the workbench in a headless browser, and waits until its extension host runs. */
export async function openWorkbench(server, { folder, width = 1280, height = 800 }) {
  const browser = await chromium.launch({
    executablePath: process.env.AGENT_LS_CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
      "--disable-sync", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    ],
  });
  const context = await browser.newContext({ viewport: { width, height }, locale: "en-US" });
  const page = await context.newPage();
  page.setDefaultTimeout(DEADLINE_MS);
  const workbench = new Workbench(server, browser, page);
  page.on("console", (message) => workbench.console.push(`${message.type()}: ${message.text()}`));
  await page.goto(`${server.url}/?${new URLSearchParams({ folder: path.resolve(folder) })}`);
  await workbench.isUp();
  return workbench;
}

class Workbench {
  constructor(server, browser, page) {
    Object.assign(this, { server, browser, page, console: [] });
  }

  async isUp() {
    await this.page.waitForSelector(".monaco-workbench", { timeout: 2 * DEADLINE_MS });
    await until(() => this.eval(() => true), "the extension host", 2 * DEADLINE_MS);
  }

  /** Runs a function inside the extension host: eval((vscode, n) => n + 1, 41). It is sent as source text. */
  eval(work, ...args) {
    return new Promise((resolve, reject) => {
      let text = "";
      const socket = net.connect(this.server.probe, () => socket.write(`${JSON.stringify({ id: 1, code: String(work), args })}\n`));
      socket.setEncoding("utf8").on("error", reject).on("data", (chunk) => {
        text += chunk;
        if (!text.endsWith("\n")) return;
        socket.end();
        const reply = JSON.parse(text);
        if (reply.error) reject(new Error(reply.error));
        else resolve(reply.value);
      }).on("close", () => reject(new Error("the extension host closed the probe")));
    });
  }

  /** Drags the edge of the side bar until it has this width. */
  async sideBarWidth(px) {
    const bar = this.page.locator(".part.sidebar");
    const width = async () => Math.round((await bar.boundingBox()).width);
    await actUntil(async () => {
      const box = await bar.boundingBox();
      const y = box.y + box.height / 2;
      await this.page.mouse.move(box.x + box.width, y);
      await this.page.mouse.down();
      await this.page.mouse.move(box.x + px, y);
      await this.page.mouse.up();
    }, async () => Math.abs((await width()) - px) <= 8, `the side bar to be ${px} px wide`);
  }

  get quickInput() {
    return this.page.locator(".quick-input-widget:visible .quick-input-box input");
  }

  /** Runs a command by its title in the palette. Returns when the palette has closed, so that the command gets the keys. */
  async runCommand(title) {
    const input = this.quickInput;
    const value = async () => ((await input.isVisible()) ? input.inputValue() : "");
    await actUntil(() => this.page.keyboard.press("F1"), async () => (await value()).startsWith(">"), "the palette");
    await input.fill(`>${title}`);
    // Enter runs the focused row. Wait for it, because the palette may still show the rows of the previous text.
    await this.page.locator(".quick-input-widget:visible .monaco-list-row.focused", { hasText: title }).first().waitFor();
    await input.press("Enter");
    await until(async () => (await value()) !== `>${title}`, `the palette to do ${title}`);
  }

  /** Chooses a row of an open quick pick. */
  async pick(text) {
    const row = this.page.locator(".quick-input-widget:visible .monaco-list-row", { hasText: text }).first();
    await row.waitFor();
    await actUntil(() => row.click({ timeout: AGAIN_MS }), () => row.isHidden(), `${text} to be chosen`);
  }

  /** Answers an open input box. */
  async inputBox(text) {
    // A quick pick that is just closing has such an input too.
    await this.page.locator(".quick-input-widget:visible .quick-input-list").waitFor({ state: "hidden" });
    await this.quickInput.fill(text);
    await this.quickInput.press("Enter");
    await this.quickInput.waitFor({ state: "hidden" });
  }

  async openFile(name) {
    await this.eval(async (vscode, file) => {
      await vscode.window.showTextDocument(vscode.Uri.joinPath(vscode.workspace.workspaceFolders[0].uri, file), { preview: false });
    }, name);
    const group = this.page.locator(".editor-group-container.active");
    await group.locator(`.tab.active[data-resource-name="${path.basename(name)}"]`).waitFor();
    await group.locator(".monaco-editor .view-lines").first().waitFor();
  }

  /** Clicks into the text of the active editor, and waits until it has the focus. */
  async clickIntoEditor() {
    const editor = this.page.locator(".editor-group-container.active .monaco-editor");
    await this.clickFor(editor.locator(".view-lines").first(), ".editor-group-container.active .monaco-editor.focused");
  }

  async clickIntoTerminal() {
    await this.clickFor(this.page.locator(".terminal-wrapper.active"), ".terminal-wrapper.active");
  }

  /** Clicks on `target` until the focused element is within `place`, a selector. */
  async clickFor(target, place) {
    const hasFocus = () => this.page.evaluate((selector) => document.activeElement?.closest(selector) != null, place);
    await target.click();
    await actUntil(() => target.click({ timeout: AGAIN_MS }), hasFocus, `the keyboard to be in ${place}`, AGAIN_MS);
  }

  /** Returns the text of an open file, as the extension host has it. */
  text(name) {
    return this.eval((vscode, file) => vscode.workspace.textDocuments.find(({ uri }) => uri.scheme === "file" && uri.path.endsWith(`/${file}`)).getText(), name);
  }

  /** Waits for a webview of the extension ("publisher.name") in which `select` is visible; returns its frame. */
  webview(extensionId, { select = "body" } = {}) {
    return until(async () => {
      for (const frame of this.page.frames()) {
        if (!frame.parentFrame()?.url().includes(`extensionId=${extensionId}`)) continue;
        if (await frame.locator(select).first().isVisible()) return frame;
      }
      return undefined;
    }, `a webview of ${extensionId} with ${select}`);
  }

  notification(text) {
    return this.page.locator(":is(.notifications-toasts, .notifications-center) .notification-list-item", { hasText: text }).first();
  }

  /** Waits for a notification. VS Code hides one after some time; then it is in the list of notifications. */
  async isNotified(text) {
    const notification = this.notification(text);
    await notification.waitFor({ timeout: AGAIN_MS }).catch(() => undefined);
    await actUntil(() => this.runCommand("Notifications: Show Notifications"), () => notification.isVisible(), `the notification ${text}`);
  }

  async answerNotification(text, button) {
    const notification = this.notification(text);
    let isClicked = false;
    const click = async () => {
      await this.isNotified(text);
      await notification.locator(".monaco-button", { hasText: button }).first().click({ timeout: AGAIN_MS });
      isClicked = true;
    };
    await actUntil(click, async () => isClicked && (await notification.isHidden()), `${button} to be taken`);
  }

  /** Returns the text of the visible terminal. */
  async terminalText() {
    const rows = await this.page.locator(".terminal-wrapper.active .xterm-rows > div").allInnerTexts();
    return rows.map((row) => row.replaceAll("\u00a0", " ").trimEnd()).join("\n").trimEnd();
  }

  /** Reloads the window, and waits for the new page and its extension host. */
  async reload() {
    await this.page.evaluate(() => { window.isTheOldPage = true; });
    await this.runCommand("Developer: Reload Window").catch(() => undefined); // fails because the old page is gone
    await this.page.waitForFunction(() => window.isTheOldPage === undefined && document.querySelector(".monaco-workbench"));
    await this.isUp();
  }

  /** Returns the accessibility tree of the window as text. */
  outline() {
    return this.page.locator("body").ariaSnapshot();
  }

  async close() {
    await this.browser.close();
  }
}

/** An error after which waiting is useless. */
class Fatal extends Error {}

/** Polls `look` until it returns a truthy value, and returns that. Errors of `look` count as false. */
export async function until(look, what, deadlineMs = DEADLINE_MS) {
  const end = Date.now() + deadlineMs;
  for (;;) {
    let problem = "";
    try {
      const found = await look();
      if (found) return found;
    } catch (error) {
      if (error instanceof Fatal) throw error;
      problem = `: ${error}`;
    }
    if (Date.now() > end) throw new Error(`waited ${deadlineMs / 1000} s for ${what}${problem}`);
    await pause(POLL_MS);
  }
}

/**
 * Repeats `act` every AGAIN_MS until `isSeen` returns true. For actions that may have no effect while the page is redrawn,
 * and that can safely be repeated. The first `act` is after `afterMs`.
 */
export async function actUntil(act, isSeen, what, afterMs = 0) {
  let nextMs = performance.now() + afterMs;
  await until(async () => {
    if (await isSeen()) return true;
    if (performance.now() < nextMs) return false;
    await act();
    nextMs = performance.now() + AGAIN_MS;
    return isSeen();
  }, what);
}

/**
 * Presses `key` in a field of a webview until it arrives there. After a command, VS Code moves the focus from frame to
 * frame, and a key that is pressed then reaches none.
 */
export async function pressIn(field, key) {
  await field.evaluate((element, name) => {
    window.hasArrived = false;
    element.addEventListener("keydown", (event) => { if (event.key === name) window.hasArrived = true; }, { capture: true });
  }, key.split("+").at(-1));
  await actUntil(() => field.press(key), () => field.evaluate(() => window.hasArrived), `${key} to arrive`);
}

function isAlive(pid) {
  try {
    return !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

function kill(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended.
  }
}

/** Returns all descendants of a process. */
function descendants(pid) {
  const children = new Map();
  for (const name of fs.readdirSync("/proc").filter((each) => /^\d+$/.test(each))) {
    try {
      const parent = Number(/^PPid:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${name}/status`, "utf8"))[1]);
      children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
    } catch {
      // The process has ended.
    }
  }
  const found = [], queue = [pid];
  while (queue.length > 0) {
    const below = children.get(queue.pop()) ?? [];
    found.push(...below);
    queue.push(...below);
  }
  return found;
}
