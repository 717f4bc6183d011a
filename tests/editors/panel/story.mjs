// Uses the page of `agent-ls panel` in Chromium as a user does, by keyboard only. Prints JSON lines, which the Python test
// reads.
//
//   PANEL_STORY='{"link": "http://…", "pictures": "…", "rig": "…", "axe": "…"}' node story.mjs
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const { link, pictures, rig, axe } = JSON.parse(process.env.PANEL_STORY);
const { chromium } = createRequire(path.join(rig, "npm/package.json"))("playwright-core");
const DEADLINE_MS = 60_000;
const SIZES = [[400, 800], [700, 800], [1200, 800]];

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, permissions: ["clipboard-read", "clipboard-write"] });
const page = await context.newPage();
page.setDefaultTimeout(DEADLINE_MS);
const problems = [];
page.on("console", (message) => { if (message.type() === "error") problems.push(`${message.text()} ${message.location().url}`); });
page.on("pageerror", (error) => { problems.push(String(error)); });
const requested = new Set();
page.on("request", (request) => requested.add(new URL(request.url()).host));

function tell(what) {
  process.stdout.write(`${JSON.stringify(what)}\n`);
}

/** Presses Tab until an element that matches has the focus. */
async function tabTo(selector, { back = false } = {}) {
  for (let presses = 0; presses < 120; presses++) {
    if (await page.evaluate((wanted) => document.activeElement?.matches(wanted) === true, selector)) return;
    await page.keyboard.press(back ? "Shift+Tab" : "Tab");
  }
  throw new Error(`Tab does not reach ${selector}; the focus is on ${await page.evaluate(() => document.activeElement?.outerHTML.slice(0, 200))}`);
}

/** Stops the turn that waits for an approval. */
async function stop() {
  await page.waitForSelector(".approval.pending");
  await tabTo("#composer button.stop");
  await page.keyboard.press("Enter");
  await page.waitForSelector('#transcript [data-action="continue"]'); // the turn has ended
}

async function picture(name) {
  for (const scheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: scheme });
    for (const [width, height] of SIZES) {
      await page.setViewportSize({ width, height });
      await page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); }));
      await page.screenshot({ path: path.join(pictures, `panel-${name}-${width}-${scheme}.png`) });
      const isWide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
      if (isWide) tell({ problem: `${name} scrolls sideways at ${width}` });
    }
    const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    for (const { id, impact, nodes } of violations) {
      if (impact === "serious" || impact === "critical") tell({ problem: `${name} ${scheme}: ${id} ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}` });
    }
  }
  await page.setViewportSize({ width: 1200, height: 800 });
}

try {
  await page.goto(link);
  await page.waitForURL((url) => url.pathname === "/");
  await page.waitForSelector("#sessions .session");
  await page.evaluate(fs.readFileSync(axe, "utf8")); // evaluate runs it by the debugger, because the page's content security policy allows no other script
  await picture("list");
  const home = await page.locator("#sessions").boundingBox();
  if (home.width < 500 || Math.abs(home.x + home.width / 2 - 600) > 2) tell({ problem: `without a session the list is no column in the middle: ${JSON.stringify(home)}` });

  // Open the session with a pending approval, and allow its command.
  await page.waitForSelector("#sessions .session.asks");
  await tabTo("#sessions .session.asks");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".approval.pending");
  tell({ title: await page.title() });
  await picture("approval");
  for (let answered = 0; answered < 6; answered++) {
    await page.waitForSelector('.approval.pending [data-action="once"], #review [data-action="all"]');
    if (!(await page.$('.approval.pending [data-action="once"]'))) break;
    await tabTo('.approval.pending [data-action="once"]');
    const id = await page.getAttribute(".approval.pending", "aria-labelledby");
    await page.keyboard.press("Enter");
    await page.waitForFunction((before) => document.querySelector(".approval.pending")?.getAttribute("aria-labelledby") !== before, id);
    // Between the answer and the next step, the turn still counts as waiting: only the hidden button says that it ended.
    await page.waitForFunction(() => document.querySelector(".approval.pending") || document.querySelector("#composer button.stop").hidden);
  }
  await page.waitForSelector("#review");
  await picture("done");

  // Review its changes: keep that of the limit, undo the others, so that the next turn finds the line that it replaces.
  await tabTo('#review [data-action="all"]');
  await page.keyboard.press("Enter");
  await page.waitForSelector("#review-dialog[open] .change");
  const changes = await page.$$eval("#review-dialog .change", (found) => found.length);
  await picture("review");
  const keep = await page.locator("#review-dialog .change", { hasText: ">=" }).locator('button[aria-label^="Keep"]').getAttribute("aria-label");
  await tabTo(`#review-dialog .change button[aria-label="${keep}"]`);
  await page.keyboard.press("Enter");
  await page.waitForFunction((before) => document.querySelectorAll("#review-dialog .change").length < before, changes);
  await tabTo("#review-dialog > .answers .secondary");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll("#review-dialog .change").length === 0);
  await page.keyboard.press("Escape");
  tell({ changes });

  // Move the focus to the prompt with a few keys, and send a message to the editor's session.
  await tabTo("#composer textarea");
  await page.keyboard.type("Say it in one sentence.");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => [...document.querySelectorAll("article.user")].some(({ textContent }) => textContent.includes("Say it in one sentence.")));

  // Mention a file by a few letters; it is sent as a chip.
  await stop();
  await tabTo("#composer textarea");
  await page.keyboard.type("Look at @cart");
  await page.waitForSelector('[role="option"] >> text=cart.py');
  await picture("mention");
  await tabTo("#composer textarea");
  await page.keyboard.press("Enter");
  await page.waitForSelector('#composer .chips li >> text=cart.py');
  await page.keyboard.press("Enter");
  await page.waitForSelector('article.user .chips >> text=cart.py');
  tell({ mentioned: true });

  // Roll the conversation back to before that message, whose text returns to the prompt.
  await stop();
  await page.locator("article.user").last().locator('[data-action="back"]').press("Enter");
  await page.waitForSelector("dialog[open] >> text=Removes 1 message and the replies to it.");
  await picture("roll-back");
  await tabTo("dialog[open] .answers .primary");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector("#composer textarea")?.value.includes("Look at"));
  tell({ rolledBack: await page.$eval("#composer textarea", ({ value }) => value) });
  await page.waitForSelector("#composer .chips li >> text=cart.py");
  await page.fill("#composer textarea", "");

  // Reload the page: it keeps the session and the unsent prompt.
  await page.waitForFunction(() => document.querySelector("#composer button.stop").hidden);
  await tabTo("#composer textarea");
  await page.keyboard.type("unsent");
  await page.reload();
  await page.waitForSelector("article.user");
  await page.waitForFunction(() => document.querySelector("#composer textarea")?.value === "unsent");

  tell({ done: true, hosts: [...requested], problems });
} catch (error) {
  await page.screenshot({ path: path.join(pictures, "panel-failed.png") });
  tell({ problem: String(error.stack ?? error), problems });
} finally {
  await browser.close();
}
