// The chat in each of its states, in one theme and at some widths, which the Python test chooses: takes pictures, and
// checks that nothing is cut off, that the keyboard reaches every control, and that axe finds nothing serious.
// req: H9
import assert from "node:assert/strict";
import { cutOff, misplacedSigns, raggedLines, send, seriousFaults, wear, withChat } from "./chat_rig.mjs";
import { actUntil } from "./driver.mjs";

const open = (name, act, shown) => ({ name, act, shown });

/** A state with a menu of the prompt: `text` is typed, then `shown` is visible. */
const typed = (name, text, shown) => ({
  ...open(name, async (frame) => {
    await frame.locator("#composer textarea").fill("");
    await frame.locator("#composer textarea").pressSequentially(text);
  }, shown),
  leave: async (frame) => {
    await frame.press("#composer textarea", "Escape");
    await frame.fill("#composer textarea", "");
  },
});

/** A state of a pending approval after a row of its menu is chosen: then `shown` is visible. */
const answer = (name, label, shown) => ({
  ...open(name, async (frame) => {
    await frame.getByRole("button", { name: "More Answers" }).last().click();
    if (label !== "") await frame.getByRole("menuitem", { name: label }).click();
  }, shown),
  leave: async (frame) => { await frame.locator(shown).last().press("Escape"); },
});

/** The states: each has a message or an action of the user that leads to it, and an element that is then visible. */
const STATES = [
  { name: "the empty state", shown: "#welcome" },
  { name: "a failure", say: "please fail", shown: ".trouble" },
  { name: "a lost connection", say: "cut", shown: ".turn .stopped, .trouble" },
  { name: "a limit", say: "limit", shown: ".trouble, .notice" },
  { name: "thoughts", say: "think", shown: ".reasoning" },
  { name: "a request that is sent again", say: "again", shown: ".doing" },
  { name: "a command", say: "work", shown: ".tool.running" },
  { name: "an answer", say: "a table", shown: "article.text table" },
  { name: "subagents", say: "agents", shown: ".subagent" },
  { name: "a roll back", say: "reverted", shown: ".reverted" },
  { name: "changes to review, and decided ones", say: "judged", shown: "#review" },
  { ...open("the files to review", (frame) => frame.locator('#review [data-action="files"]').click(), "#review li"), leave: (frame) => frame.locator('#review [data-action="files"]').click() },
  { name: "a proposed change", say: "propose", shown: ".file .answers" },
  { name: "a question", say: "question", shown: ".question.pending" },
  { name: "a limit to extend", say: "extend", shown: ".question.pending" },
  { name: "a question with several answers", say: "several", shown: ".question.pending .many" },
  { name: "a page to fetch", say: "page", shown: ".approval.pending" },
  { name: "an edit to allow", say: "write", shown: ".approval.pending .diff" },
  { name: "everything", say: "show me all", shown: ".approval.pending .command" },
  answer("more answers", "", ".answer-menu"),
  answer("another command", "Run Another Command Instead", "textarea.command"),
  answer("a reason", "Deny with a Reason", ".deny .reason"),
  { ...open("the plan and the queue", async (frame) => {
    await frame.locator("#plan summary").click();
    await frame.locator("#queue li").first().getByRole("button", { name: "Edit" }).focus();
  }, "#plan [open]"), leave: (frame) => frame.locator("#plan summary").click() },
  typed("files to mention", "look at @car", ".menu li"),
  typed("commands", "/", ".menu li"),
  { ...open("models", (frame) => frame.locator(".model").click(), ".picker .menu li"), leave: (frame) => frame.locator(".picker input").press("Escape") },
  { ...open("the use of the context", (frame) => frame.locator(".meter").click(), ".facts"), leave: (frame) => frame.locator(".meter").press("Escape") },
  { name: "many scripts and long words", say: "scripts", shown: ".file .path" },
  { name: "many calls", say: "calls", shown: ".tool.failed" },
  { name: "findings", say: "findings", shown: ".tool.finding" },
  { name: "a lost place", say: "lost", shown: ".trouble" },
  { name: "a long command", say: "long", shown: ".approval.pending .goes-on" },
  { name: "a change of 2,000 lines, and evidence", say: "huge", shown: ".turn .evidence" },
  { ...open("a plan to accept", async (frame) => {
    await stop(frame);
    await frame.locator(".mode-chip select").selectOption("plan");
    await send(frame, "plan");
  }, "#accept-plan") },
  { name: "a session of another editor", say: "taken", shown: "#session [data-action=takeOver]" },
];

async function stop(frame) {
  // A short turn may end between the check and the click.
  const button = frame.locator(".stop");
  await actUntil(() => button.click({ timeout: 1_000 }), () => button.isHidden(), "the turn to end");
}

/** Takes the pictures, and returns the faults of the state. */
async function atEachWidth({ wb, chat, shot }, name, theme, widths) {
  const faults = [];
  const add = (what, found) => { if (found.length > 0) faults.push(`${name}, ${what}: ${found.join("; ")}`); };
  const frame = await chat();
  for (const width of widths) {
    await wb.sideBarWidth(width);
    await frame.waitForFunction((most) => document.body.clientWidth <= most, width);
    await frame.locator(".to-end").waitFor({ state: "hidden" }); // the newest item is visible
    await shot(`${name} ${theme.replace("Default ", "")} ${width}`);
    add(`cut off at ${width} px`, await frame.evaluate(cutOff));
    add(`lines of different widths at ${width} px`, await frame.evaluate(raggedLines));
  }
  add("signs out of place", await frame.evaluate(misplacedSigns));
  add("not reached by keys", await frame.evaluate(unreachable));
  add(`by axe in ${theme}`, await seriousFaults(frame));
  return faults;
}

/** Returns controls that the keyboard cannot reach, by Tab or by the arrow keys in a menu. */
function unreachable() {
  const controls = [...document.querySelectorAll("button, select, input, textarea, summary, a, [role=button]")].filter((element) => element.checkVisibility() && !element.disabled);
  return controls.filter((element) => element.tabIndex < 0 && !element.closest("[role=menu], [role=listbox]")).map((element) => element.outerHTML.slice(0, 160));
}

await withChat(async (rig) => {
  const { wb, chat } = rig;
  const { theme, widths } = await rig.ask("look");
  const faults = [];
  await wb.openFile("shop/cart.py");
  await wear(theme, { wb, frame: await chat() });
  for (const { name, say, act, shown, leave } of STATES) {
    const frame = await chat();
    if (say) {
      await stop(frame);
      await send(frame, say);
    }
    await act?.(frame);
    await frame.locator(shown).last().waitFor();
    faults.push(...await atEachWidth(rig, name, theme, widths));
    await leave?.(frame);
  }
  assert.deepEqual(faults, []);
});
