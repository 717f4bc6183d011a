// The walkthrough session in a real workbench, driven as a user would: node src/test/e2e/walkthrough.mjs agent-ls.vsix
// AGENT_LS_VSCODE_DRIVER names the driver of the workbench, AGENT_LS_SHOTS a folder for pictures of each step.
// req: H9, H6, H7, H12
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

const driver = process.env.AGENT_LS_VSCODE_DRIVER;
if (!driver) {
  console.log("skipped: AGENT_LS_VSCODE_DRIVER names no driver");
  process.exit(0);
}
const { startServer, openWorkbench } = await import(pathToFileURL(driver).href);

const repository = path.resolve(import.meta.dirname, "../../../..");
const bin = path.join(repository, ".venv/bin");
const base = fs.mkdtempSync(path.join(os.tmpdir(), "agent-ls-e2e-"));
const shots = process.env.AGENT_LS_SHOTS ?? path.join(base, "shots");
const project = path.join(base, "shop");
const started = performance.now();
let picture = 0;

const copy = "import sys; from pathlib import Path; from agent_ls.app.sample import copy_sample_project; copy_sample_project(Path(sys.argv[1]))";
execFileSync(path.join(bin, "python"), ["-c", copy, project]);

// agentLs.command has machine scope: in a remote window it is read from the remote machine's settings.
const dir = path.join(base, "rig");
fs.mkdirSync(path.join(dir, "data/Machine"), { recursive: true });
fs.writeFileSync(path.join(dir, "data/Machine/settings.json"), JSON.stringify({ "agentLs.command": [path.join(bin, "agent-ls")] }));
const server = await startServer({ dir, vsix: [process.argv[2]], env: { AGENT_LS_STATE_DIR: path.join(base, "state") } });
let wb;
let failed = 0;

async function step(what) {
  await wb.screenshot(path.join(shots, `${String(++picture).padStart(2, "0")}-${what.replace(/\W+/g, "-")}.png`));
  console.log(`${((performance.now() - started) / 1000).toFixed(1).padStart(5)}s  ${what}`);
}

const chatView = () => wb.webview("agent-ls.agent-ls", { select: "textarea" });
const lens = (line, text) => wb.page.locator(".codelens-decoration", { has: wb.page.locator("a", { hasText: line }) }).locator("a", { hasText: text });

try {
  wb = await openWorkbench(server, { folder: project });
  const { page } = wb;
  await wb.openFile("shop/cart.py");
  await wb.runCommand("agent-ls: Start the Walkthrough Session");
  let chat = await chatView();
  await chat.fill("textarea", "The tests fail. Find out why and fix it.");
  await chat.press("textarea", "Enter");
  const asked = () => chat.locator(".approval.pending");
  await asked().filter({ hasText: "Make this change?" }).waitFor();
  await step("asks before the first edit");

  await page.locator(".editor-group-container.active .monaco-editor .view-lines").first().click();
  await page.keyboard.press("Control+Home");
  await page.keyboard.type("# mine\n");
  await asked().getByRole("button", { name: /edits in the workspace/ }).click();
  await page.locator(".codelens-decoration a", { hasText: "Keep" }).first().waitFor();
  assert.match((await wb.activeDocument()).text, /^# mine\n.*\(1 - DISCOUNT_RATE\)/s);
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), "IFRAME", "the focus stays in the chat, where the click was");
  await step("edited while typed in, allowed for the session");

  await asked().filter({ hasText: "Run this command?" }).waitFor();
  await step("asks before a command");
  await asked().getByRole("button", { name: "Allow Once" }).click();

  await asked().locator(".command", { hasText: "unittest" }).waitFor({ state: "hidden" });
  await asked().filter({ hasText: "Run this command?" }).waitFor();
  await asked().locator(".reason").fill("show me first");
  await asked().getByRole("button", { name: "Deny" }).click();
  await chat.locator(".approval.done", { hasText: "show me first" }).waitFor();
  await wb.until(async () => (await chat.locator(".badge", { hasText: /working|asks you/ }).count()) === 0);
  await step("denied with a reason, done");

  const shell = chat.locator(".tool.failed", { has: chat.locator("summary strong", { hasText: "shell" }) }).first();
  await shell.locator("summary").click();
  await shell.getByRole("button", { name: "Show in Terminal" }).click();
  await wb.until(async () => (await wb.terminalText()).includes("[exit 1"));
  // The user's own typing was not saved for it, so it saw the text on disk.
  assert.match(await wb.terminalText(), /FAILED \(failures=2\)[^]*the user's unsaved changes/);
  await step("output in a terminal");
  await wb.runCommand("View: Toggle Panel Visibility");

  await chat.fill("textarea", "half a thought");
  await page.waitForTimeout(600); // the draft is kept a moment after the last key
  await wb.runCommand("Developer: Reload Window").catch(() => undefined); // the page that was asked is gone
  await page.waitForTimeout(3000); // until the old page is gone
  await page.waitForSelector(".monaco-workbench");
  chat = await chatView();
  await chat.locator("article.user").first().waitFor();
  assert.equal(await chat.locator("textarea").inputValue(), "half a thought");
  await page.locator(".codelens-decoration a", { hasText: "Keep" }).first().waitFor();
  await step("reloaded: transcript, draft and changes to review are there");

  await lens("agent 1/2", "Undo").click();
  await lens("agent 1/1", "Keep").waitFor();
  await step("one undone");
  await lens("agent 1/1", "Keep").click();
  await wb.until(async () => (await page.locator(".codelens-decoration a", { hasText: "Keep" }).count()) === 0);
  const { text } = await wb.activeDocument();
  assert.match(text, /^# mine\n/);
  assert.match(text, /if amount > DISCOUNT_FROM:\n +amount = amount \* \(1 - DISCOUNT_RATE\)/);
  await step("one kept");

  for (const theme of ["Default High Contrast", "Default Dark Modern"]) {
    await wb.eval((vscode, name) => vscode.workspace.getConfiguration().update("workbench.colorTheme", name, true), theme);
    await page.waitForTimeout(500);
    await step(theme);
  }
} catch (error) {
  failed = 1;
  console.error(error);
  if (wb) await step("failure");
  for (const [name, log] of Object.entries(server.logs())) if (/agent-ls/.test(name)) console.error(name, log.slice(-3000));
} finally {
  await wb?.close();
  await server.stop({ keep: failed === 1 });
}
console.log(`${1 - failed} passed, ${failed} failed; pictures in ${shots}`);
process.exit(failed);
