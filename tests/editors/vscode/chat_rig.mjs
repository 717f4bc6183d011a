// Runs a test with the chat open, and gives it the frame of the chat, the workbench and a function for pictures.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pressIn } from "./driver.mjs";
import { play } from "./stage.mjs";

const AXE = readFileSync(createRequire(new URL("../../../vscode-extension/package.json", import.meta.url)).resolve("axe-core"), "utf8");

export const THEMES = ["Default Light Modern", "Default Dark Modern", "Default High Contrast", "Default High Contrast Light"];

/** Sends a message by the keyboard. */
export async function send(frame, text) {
  const prompt = frame.locator("#composer textarea");
  await prompt.fill(text);
  await pressIn(prompt, "Enter");
}

/** Selects a theme, and waits until the chat has it. */
export async function wear(theme, { wb, frame }) {
  const before = await frame.evaluate(() => document.body.dataset.vscodeThemeId);
  await wb.eval((vscode, name) => vscode.workspace.getConfiguration().update("workbench.colorTheme", name, true), theme);
  // The webview gets the theme later than the workbench. Its theme id changes together with its colours.
  await frame.waitForFunction(([name, old]) => {
    const { vscodeThemeId: now } = document.body.dataset;
    return now !== old || name.endsWith(now);
  }, [theme, before]);
}

/** Returns the serious and critical findings of axe in the page, as text. */
export async function seriousFaults(frame) {
  if (!(await frame.evaluate(() => "axe" in window))) await frame.evaluate(AXE);
  // Set a background, because the page has none: the frame around it has it. axe would assume white.
  await frame.evaluate(() => { document.documentElement.style.background = "var(--vscode-sideBar-background)"; });
  // Wait for two frames, because elements outside the viewport keep their old colours until they are drawn.
  await frame.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); }));
  const { violations } = await frame.evaluate(() => window.axe.run(document));
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  return serious.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 4).map(({ html, failureSummary }) => `${html.slice(0, 160)} ${failureSummary}`).join("; ")}`);
}

/** Returns buttons and fields that extend beyond the page, or whose text extends beyond them. */
export function cutOff() {
  const seen = [...document.querySelectorAll("button, select, input, textarea")].filter((element) => element.checkVisibility() && element.getClientRects().length > 0);
  const names = (element) => element.getAttribute("aria-label") ?? element.textContent;
  return seen.filter((element) => {
    const { left, right, width } = element.getBoundingClientRect();
    if (width < 2) return false; // collapsed
    const mayShorten = getComputedStyle(element).textOverflow === "ellipsis";
    return left < -1 || right > document.documentElement.clientWidth + 1 || (!mayShorten && element.matches("button") && element.scrollWidth > element.clientWidth + 2);
  }).map(names);
}

/** Returns signs that are drawn beside their box, where the page may end. */
export function misplacedSigns() {
  const signs = [...document.querySelectorAll(".codicon")].filter((element) => element.checkVisibility() && getComputedStyle(element).textIndent !== "0px");
  return signs.map((element) => element.parentElement.outerHTML.slice(0, 160));
}

/** Returns coloured lines of code blocks that do not have the same width. */
export function raggedLines() {
  return [...document.querySelectorAll(".code code")].filter((block) => {
    const widths = [...block.querySelectorAll(".hljs-addition, .hljs-deletion")].map((line) => Math.round(line.getBoundingClientRect().width));
    return new Set(widths).size > 1;
  }).map((block) => block.textContent.slice(0, 80));
}

/** Takes pictures of the chat at 320 and 420 px in a light and a dark theme, and checks that nothing is cut off. */
export async function atNarrowWidths(actor, what) {
  const frame = await actor.chat();
  for (const theme of THEMES.slice(0, 2)) {
    await wear(theme, { wb: actor.workbench, frame });
    for (const width of [320, 420]) {
      await actor.workbench.sideBarWidth(width);
      await frame.waitForFunction((most) => document.body.clientWidth <= most, width);
      await actor.step(`${what} ${theme.split(" ")[1]} ${width}`);
      assert.deepEqual(await frame.evaluate(cutOff), [], `cut off at ${width} px: ${what}`);
    }
  }
}

/** Runs `test` with the chat open, and exits the process. */
export function withChat(test) {
  return play(async (actor) => {
    const { workbench: wb, page, until, project } = actor;
    await wb.runCommand("agent-ls: Open Chat");
    const chat = () => wb.webview("agent-ls.agent-ls", { select: "#composer textarea" });
    await test({ wb, page, until, project, chat, shot: (what) => actor.step(what), ask: (what) => actor.ask(what) });
  });
}
