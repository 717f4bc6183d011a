// The chat on a stage of its own: opened, with its frame, the workbench and a picture of each step.
import { play } from "./stage.mjs";

/** Plays `test` with the chat open; ends this process. */
export function withChat(test) {
  return play(async (actor) => {
    const { workbench: wb, page, until, project } = actor;
    await wb.runCommand("agent-ls: Open Chat");
    const chat = () => wb.webview("agent-ls.agent-ls", { select: "#composer textarea" });
    await test({ wb, page, until, project, chat, shot: (what) => actor.step(what) });
  });
}
