// The chat's prompt, queue, questions and plan, used by mouse and keys, with pictures.
// req: H9, H7
import assert from "node:assert/strict";
import { send, THEMES, wear, withChat } from "./chat_rig.mjs";

await withChat(async ({ wb, page, until, chat, shot }) => {
  let frame = await chat();
  await shot("01-welcome");
  await wb.openFile("shop/cart.py");
  await send(frame, "show me all");
  await frame.locator(".approval.pending").waitFor();
  await shot("02-everything");

  await frame.locator("#plan summary").click();
  await frame.locator("#queue li").first().hover();
  await shot("03-plan-and-queue");
  await frame.locator("#queue li").nth(1).hover();
  await frame.locator("#queue li").nth(1).getByRole("button", { name: "Move up" }).click();
  await frame.locator("#queue li", { hasText: "bump the version" }).first().waitFor();
  await until(async () => (await frame.locator("#queue li").first().innerText()).includes("bump"));
  await frame.locator("#queue li").first().hover();
  await frame.locator("#queue li").first().getByRole("button", { name: "Edit" }).click();
  await frame.fill("#queue textarea", "and bump the minor version");
  await shot("04-queue-edited");
  await frame.press("#queue textarea", "Enter");
  await frame.locator("#queue li", { hasText: "minor version" }).waitFor();
  await frame.locator("#queue li", { hasText: "changelog" }).hover();
  await frame.locator("#queue li", { hasText: "changelog" }).getByRole("button", { name: "Remove" }).click();
  await until(async () => (await frame.locator("#queue li").count()) === 1);

  const input = frame.locator("#composer textarea");
  await input.click();
  await input.pressSequentially("look at @car");
  await frame.locator(".menu li", { hasText: "cart.py" }).first().waitFor();
  await shot("05-mention");
  await input.press("Enter");
  await frame.locator(".chips li", { hasText: "cart.py" }).waitFor();
  assert.match(await input.inputValue(), /^look at @\S*cart\.py $/);
  await input.fill("");
  await input.pressSequentially("/");
  await frame.locator(".menu li", { hasText: "/explain" }).waitFor();
  await shot("06-commands");
  await input.press("Escape");
  await input.fill("");

  await frame.locator(".model").click();
  await frame.locator(".picker .menu li", { hasText: "Wide 5" }).waitFor();
  await shot("07-models");
  await frame.locator(".picker input:focus").waitFor();
  await page.keyboard.type("small");
  await page.keyboard.press("Enter");
  await until(async () => (await frame.locator(".model").innerText()) === "Small 1");
  await frame.locator(".meter").click();
  await shot("08-facts");
  await frame.locator(".meter").press("Escape");

  await frame.getByRole("button", { name: "More Answers" }).click();
  await shot("09-more-answers");
  await frame.getByRole("menuitem", { name: "Run Another Command Instead" }).click();
  await frame.fill("textarea.command", "git status");
  await shot("10-command-edited");
  await frame.getByRole("button", { name: "Run This Instead" }).click();
  await frame.locator("article.text", { hasText: "You ran git status instead." }).waitFor();
  await input.click();
  await input.press("Escape");
  await frame.locator("article.turn", { hasText: "Stopped." }).waitFor();
  await shot("11-turn-stopped");

  await input.pressSequentially("half a thought");
  await wb.reload();
  frame = await chat();
  await until(async () => (await frame.locator("#composer textarea").inputValue()) === "half a thought");
  await shot("12-reloaded");
  for (const theme of THEMES) {
    await wear(theme, { wb, frame });
    await send(frame, "show me all");
    const asked = frame.locator(".approval.pending").first();
    await asked.waitFor();
    await asked.getByRole("button", { name: "More Answers" }).press("ArrowDown");
    await asked.getByRole("menu").waitFor();
    await shot(`13-${theme.replace(/ /g, "-")}`);
    // Close the menu before the answer, because the next theme asks another question.
    await asked.getByRole("menu").press("Escape");
    await asked.getByRole("button", { name: "Deny", exact: true }).click();
    await frame.locator(".approval.pending").waitFor({ state: "hidden" });
  }
});
