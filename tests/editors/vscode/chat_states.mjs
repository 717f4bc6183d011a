// The chat at 300, 400 and 600 px, in light and dark, in its states: a picture of each, and nothing is cut off.
// req: H9
import assert from "node:assert/strict";
import { wear, withChat } from "./chat_rig.mjs";

const WIDTHS = [300, 400, 600];
const STATES = { "a failure": ["please fail", ".trouble"], "a command": ["work", ".tool.running"], "an answer": ["a table", "article.text table"], everything: ["show me all", ".approval.pending"] };

await withChat(async ({ wb, chat, shot }) => {
  let frame = await chat();
  await frame.locator("#welcome").waitFor();
  await atEachWidth({ wb, chat, shot }, "the empty state");
  for (const [name, [said, end]] of Object.entries(STATES)) {
    frame = await chat();
    await frame.fill("#composer textarea", said);
    await frame.press("#composer textarea", "Enter");
    await frame.locator(end).last().waitFor();
    await atEachWidth({ wb, chat, shot }, name);
    if (end === ".approval.pending" || !(await frame.locator(".stop").isVisible())) continue;
    await frame.press("#composer textarea", "Escape");
    await frame.locator(".stop").waitFor({ state: "hidden" });
  }
});

async function atEachWidth({ wb, chat, shot }, name) {
  for (const theme of ["Default Light Modern", "Default Dark Modern"]) {
    await wear(theme, { wb, frame: await chat() });
    for (const width of WIDTHS) {
      await wb.sideBarWidth(width);
      const frame = await chat();
      await frame.waitForFunction((most) => document.body.clientWidth <= most, width);
      await frame.locator(".to-end").waitFor({ state: "hidden" }); // the newest item is in sight
      await shot(`${name} ${theme.split(" ")[1]} ${width}`);
      assert.deepEqual(await frame.evaluate(cutOff), [], `${name} at ${width} px`);
    }
  }
}

/** Buttons and fields that do not lie within the page, or whose words do not lie within them. */
function cutOff() {
  const seen = [...document.querySelectorAll("button, select, input, textarea")].filter((element) => element.checkVisibility() && element.getClientRects().length > 0);
  const names = (element) => element.getAttribute("aria-label") ?? element.textContent;
  return seen.filter((element) => {
    const { left, right, width } = element.getBoundingClientRect();
    if (width < 2) return false; // folded away until it is wanted
    const mayShorten = getComputedStyle(element).textOverflow === "ellipsis";
    return left < -1 || right > document.documentElement.clientWidth + 1 || (!mayShorten && element.matches("button") && element.scrollWidth > element.clientWidth + 2);
  }).map(names);
}
