// Runs a test of the packed extension in a real workbench, with a project. Saves a picture of each step, and after a
// failure the logs and the state of the window. AGENT_LS_STAGE has its options as JSON (tests/editors/vscode_rig.py).
import fs from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { actUntil, openWorkbench, pressIn, startServer, until } from "./driver.mjs";

const stage = JSON.parse(process.env.AGENT_LS_STAGE);
const started = performance.now();
const EXTENSION = "agent-ls.agent-ls";

/** Runs `userPath(actor)` in a new workbench, and exits the process. */
export async function play(userPath, { width, height } = {}) {
  fs.rmSync(stage.pictures, { recursive: true, force: true });
  fs.mkdirSync(stage.pictures, { recursive: true });
  const server = await startServer({ vsix: [stage.vsix], machine: stage.machine, settings: stage.settings, env: stage.env, trust: stage.trust });
  let workbench;
  let code = 0;
  try {
    workbench = await openWorkbench(server, { folder: stage.project, width, height });
    await userPath(new Actor(workbench));
    console.log("done");
  } catch (error) {
    code = 1;
    console.error(error);
    await saveFailure(workbench, server);
  } finally {
    await workbench?.close();
    await server.stop();
  }
  process.exit(code);
}

/** Saves what is needed to diagnose a failure: logs, console, a screenshot, and the content of the window and the chat. */
async function saveFailure(workbench, server) {
  const write = (name, text) => { fs.writeFileSync(path.join(stage.pictures, name), text); };
  for (const [name, text] of Object.entries(server.logs())) if (/agent-ls|exthost|remoteagent/.test(name)) write(`failure-${path.basename(name)}`, text);
  if (!workbench) return;
  write("failure-console.txt", workbench.console.join("\n"));
  await workbench.page.screenshot({ path: path.join(stage.pictures, "failure.png") }).catch(() => undefined);
  write("failure-outline.txt", await workbench.outline().catch(String));
  const chat = await workbench.webview(EXTENSION, { select: "textarea" }).catch(() => undefined);
  if (!chat) return;
  write("failure-chat.html", await chat.content());
  const shown = await chat.locator("#app").innerText();
  console.error(`the chat shows: ${shown.slice(-600)}\nits prompt: ${await chat.locator("textarea").last().inputValue()}`);
}

class Actor {
  pictures = 0;

  constructor(workbench) {
    this.workbench = workbench;
    this.page = workbench.page;
    this.project = stage.project;
    this.until = until;
  }

  /** Records the end of a step: saves a picture and prints a line with the time. */
  async step(what) {
    this.pictures += 1;
    const name = `${String(this.pictures).padStart(2, "0")}-${what.replace(/\W+/g, "-")}.png`;
    await this.page.screenshot({ path: path.join(stage.pictures, name) });
    console.log(`${((performance.now() - started) / 1000).toFixed(1).padStart(5)}s  ${what}`);
  }

  /** Returns the frame of the chat. */
  chat() {
    return this.workbench.webview(EXTENSION, { select: "textarea" });
  }

  /** Starts a new session, and waits until it is shown. */
  async newSession() {
    await this.workbench.runCommand("agent-ls: New Session");
    await (await this.chat()).getByRole("heading", { name: "New session" }).waitFor();
  }

  /** Types a message, and sends it with `key`. */
  async say(text, key = "Enter") {
    const chat = await this.chat();
    const prompt = chat.locator("textarea");
    await prompt.fill(text);
    await pressIn(prompt, key);
  }

  /** Waits for a pending approval with this text in the chat; returns its element. */
  async asked(text) {
    const question = (await this.chat()).locator(".approval.pending", { hasText: text }).first();
    await question.waitFor();
    return question;
  }

  /** Allows an approval and similar requests for this session. */
  async allowForSession(question) {
    await question.getByRole("button", { name: "More Answers" }).click();
    await question.getByRole("menuitem", { name: /this session/ }).first().click();
  }

  /** Returns a button above a change. `line` is a text of its line of buttons. */
  lens(line, button) {
    const lenses = this.page.locator(".codelens-decoration");
    return lenses.filter({ has: this.page.locator("a", { hasText: line }) }).locator("a", { hasText: button }).first();
  }

  /** Clicks a button above a change until the buttons are gone. A click has no effect while the buttons are redrawn. */
  async decide(line, button) {
    const lens = this.lens(line, button);
    await lens.waitFor();
    await actUntil(() => lens.click({ timeout: 3_000 }), async () => (await lens.count()) === 0, `${button} to decide ${line}`);
  }

  /** Returns the texts that the visible editors show behind their lines. */
  behindLines() {
    return this.page.evaluate(() => [...document.querySelectorAll(".view-lines .view-line span")]
      .map((span) => getComputedStyle(span, "::after").content)
      .filter((content) => content !== "none" && content !== "normal")
      .map((content) => content.replace(/^"|"$/g, "").replaceAll("\u00a0", " ").trim()));
  }

  /** Waits until no visible file has buttons of changes. They are removed shortly after the decision, and are useless then. */
  async isDecided() {
    await until(async () => (await this.page.locator(".codelens-decoration", { hasText: /agent \d/ }).count()) === 0, "the buttons of decided changes to go");
  }

  /** Trusts the folder of the window, in VS Code's page of workspace trust. */
  async trust() {
    const { workbench, page } = this;
    await workbench.runCommand("Workspaces: Manage Workspace Trust");
    const button = page.locator(".workspace-trust-editor").getByRole("button", { name: "Trust", exact: true });
    await button.waitFor();
    const isTrusted = () => workbench.eval((vscode) => vscode.workspace.isTrusted);
    await actUntil(() => button.click({ timeout: 3_000 }), isTrusted, "the folder to be trusted");
  }

  async isIdleNow() {
    const chat = await this.chat();
    return (await chat.locator(".badge", { hasText: /working|asks you/ }).count()) === 0;
  }

  isIdle() {
    return until(() => this.isIdleNow(), "the agent to be done");
  }

  /** Sends a request to the Python test, which scripts the model; returns its answer. */
  ask(what, ...args) {
    return answers.of(what, args);
  }
}

const answers = {
  waiting: new Map(),
  count: 0,
  of(what, args) {
    this.lines ??= createInterface(process.stdin).on("line", (line) => {
      const { id, result, error } = JSON.parse(line);
      const [resolve, reject] = this.waiting.get(id);
      if (error === undefined) resolve(result);
      else reject(new Error(error));
    });
    return new Promise((resolve, reject) => {
      this.count += 1;
      this.waiting.set(this.count, [resolve, reject]);
      console.log(`@${JSON.stringify({ id: this.count, what, args })}`);
    });
  },
};
