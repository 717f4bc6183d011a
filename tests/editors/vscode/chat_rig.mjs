// The chat on a stage of its own: opened, with its frame, the workbench and a picture of each step.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { play } from "./stage.mjs";

const AXE = readFileSync(createRequire(new URL("../../../vscode-extension/package.json", import.meta.url)).resolve("axe-core"), "utf8");

export const THEMES = ["Default Light Modern", "Default Dark Modern", "Default High Contrast", "Default High Contrast Light"];

/** Chooses the theme, and returns when the chat has it. */
export async function wear(theme, { wb, frame }) {
  const before = await frame.evaluate(() => document.body.dataset.vscodeThemeId);
  await wb.eval((vscode, name) => vscode.workspace.getConfiguration().update("workbench.colorTheme", name, true), theme);
  // A view is told of a theme after the workbench; its name and its colours come together.
  await frame.waitForFunction(([name, old]) => {
    const { vscodeThemeId: now } = document.body.dataset;
    return now !== old || name.endsWith(now);
  }, [theme, before]);
}

/** What axe finds in the page that is serious or critical, as text. */
export async function seriousFaults(frame) {
  if (!(await frame.evaluate(() => "axe" in window))) await frame.evaluate(AXE);
  // The view's own background is the workbench's, in a frame around this one: axe would take it for white.
  await frame.evaluate(() => { document.documentElement.style.background = "var(--vscode-sideBar-background)"; });
  // Drawn once with the new colours: what is out of sight keeps its old ones until then.
  await frame.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); }));
  const { violations } = await frame.evaluate(() => window.axe.run(document));
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  return serious.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 4).map(({ html, failureSummary }) => `${html.slice(0, 160)} ${failureSummary}`).join("; ")}`);
}

/** Plays `test` with the chat open; ends this process. */
export function withChat(test) {
  return play(async (actor) => {
    const { workbench: wb, page, until, project } = actor;
    await wb.runCommand("agent-ls: Open Chat");
    const chat = () => wb.webview("agent-ls.agent-ls", { select: "#composer textarea" });
    await test({ wb, page, until, project, chat, shot: (what) => actor.step(what) });
  });
}
