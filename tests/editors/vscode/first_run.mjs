// A first message that cannot begin, at two widths in a light and a dark theme: what blocks and what to do is in sight,
// and the chat goes on once it is mended.
// req: H9, H16, U8
import { atNarrowWidths } from "./chat_rig.mjs";
import { play } from "./stage.mjs";

await play(async (actor) => {
  const { workbench } = actor;
  const { reason, step, last, goesOn } = await actor.ask("state");
  await workbench.openFile("notes.txt");
  await workbench.runCommand("agent-ls: Open Chat");
  const chat = await actor.chat();
  await atNarrowWidths(actor, "before the first message");
  await actor.say("Make it.");
  await actor.until(() => says(chat, reason), `the chat to say ${reason}`);
  await actor.until(() => says(chat, step), `the chat to say ${step}`);
  await actor.isIdle();
  await atNarrowWidths(actor, "what blocks");
  if (!goesOn) {
    await actor.ask("mend");
    await workbench.runCommand("agent-ls: Open Chat");
    await actor.say("And now?");
  }
  await chat.getByText(last).first().waitFor();
  await actor.isIdle();
  await atNarrowWidths(actor, "it goes on");
}, { width: 1100, height: 760 });

async function says(chat, words) {
  const shown = await chat.locator("#app").innerText();
  return shown.toLowerCase().includes(words.toLowerCase());
}
