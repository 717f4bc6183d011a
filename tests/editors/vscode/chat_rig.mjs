// The chat on a stage of its own: opened, with its frame, the workbench and a picture of each step.
import { play } from "./stage.mjs";

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

/** Plays `test` with the chat open; ends this process. */
export function withChat(test) {
  return play(async (actor) => {
    const { workbench: wb, page, until, project } = actor;
    await wb.runCommand("agent-ls: Open Chat");
    const chat = () => wb.webview("agent-ls.agent-ls", { select: "#composer textarea" });
    await test({ wb, page, until, project, chat, shot: (what) => actor.step(what) });
  });
}
