// A finished turn with three changed files: the bar of the chat and the lines above the changes decide about it, and nothing
// else. The transcript keeps most of the height. Takes pictures at three widths in each kind of theme.
// req: H9, H7
import assert from "node:assert/strict";
import { seriousFaults, THEMES, wear, withChat } from "./chat_rig.mjs";

const SHARE = 0.65; // of the side bar's height that the transcript keeps

await withChat(async ({ wb, page, chat, shot }) => {
  await wb.openFile("shop/cart.py");
  const frame = await chat();
  await frame.fill("#composer textarea", "changed");
  await frame.press("#composer textarea", "Enter");
  await frame.locator("#review").waitFor();
  await wb.sideBarWidth(420);
  const share = (await frame.locator("#transcript").boundingBox()).height / (await page.locator(".part.sidebar").boundingBox()).height;
  assert.ok(share >= SHARE, `the transcript has ${Math.round(100 * share)} % of the side bar`);
  const deciding = await frame.locator("button[aria-label]").evaluateAll((all) => all.filter((button) => button.checkVisibility() && /^(Keep|Undo)/.test(button.ariaLabel)).map((button) => button.closest("section").id));
  assert.deepEqual([...new Set(deciding)], ["review"]);
  assert.equal(await page.locator(".pane-header", { hasText: "Changes" }).count(), 0, "the view of all changes opens only when asked for");
  await frame.locator('#review [data-action="files"]').click();
  await frame.locator("#review li").nth(2).waitFor();
  assert.equal(await frame.locator(".turn .box").count(), 0);
  for (const theme of THEMES) {
    await wear(theme, { wb, frame });
    for (const width of [320, 420, 900]) {
      await wb.sideBarWidth(width);
      await frame.waitForFunction((most) => document.body.clientWidth <= most, width);
      await shot(`${theme.replace("Default ", "")} ${width}`);
    }
    assert.deepEqual(await seriousFaults(frame), [], theme);
  }
});
