// Hostile model output has no effect in the real chat, and axe finds nothing serious in any kind of theme.
// req: H9
import assert from "node:assert/strict";
import { send, seriousFaults, THEMES, wear, withChat } from "./chat_rig.mjs";
import { actUntil } from "./driver.mjs";

async function runsNothing({ wb, chat, shot }) {
  const frame = await chat();
  const asked = [];
  wb.page.on("request", (request) => asked.push(request));
  await send(frame, "hostile");
  await frame.locator("article.text", { hasText: "picture" }).first().waitFor();
  await frame.locator("article.text .code").nth(1).waitFor();
  const found = await frame.evaluate(() => {
    const root = document.getElementById("transcript");
    const attributes = [...root.querySelectorAll("*")].flatMap((element) => [...element.attributes].map(({ name, value }) => `${name}=${value}`));
    return {
      elements: [...root.querySelectorAll("script, img, svg, iframe, object, embed, style, link, form, base, meta")].map(({ outerHTML }) => outerHTML),
      handlers: attributes.filter((each) => /^on/i.test(each)),
      hrefs: [...root.querySelectorAll("[href], [src]")].map((element) => element.getAttribute("href") ?? element.getAttribute("src")).filter((href) => href !== "#"),
      opens: [...root.querySelectorAll("[data-open], [data-link]")].map((element) => element.dataset.open ?? element.dataset.link),
    };
  });
  assert.deepEqual([found.elements, found.handlers, found.hrefs], [[], [], []]);
  assert.deepEqual(found.opens.filter((each) => /^(javascript|data|command|vscode|mailto):|^\/\/|^file:\/\/[^/]/i.test(each)), []);
  for (const link of await frame.locator("#transcript article.text a").all()) {
    await link.click();
    const dialog = wb.page.locator(".monaco-dialog-box");
    if (/^https?:/.test((await link.getAttribute("data-link")) ?? "")) {
      await dialog.filter({ hasText: "example.org" }).waitFor();
      await shot("safety-link");
      await actUntil(() => wb.page.keyboard.press("Escape"), () => dialog.isHidden(), "the question to go");
    }
  }
  // If markup ever got into the page, its content security policy must stop it. So insert markup, which must do nothing.
  await frame.evaluate(() => {
    const box = document.createElement("div");
    box.innerHTML = "<img src=x onerror='window.pwned = 1'><svg onload='window.pwned = 1'></svg><iframe src='javascript:parent.pwned=1'></iframe><a id='js' href='javascript:window.pwned=1'>x</a><img src='https://example.org/track.png'>";
    document.body.append(box);
    const script = document.createElement("script");
    script.textContent = "window.pwned = 1";
    document.body.append(script);
    document.getElementById("js").click();
    box.remove();
  });
  await wb.page.waitForTimeout(300);
  assert.equal(await frame.evaluate(() => window.pwned), undefined);
  assert.equal(await wb.page.evaluate(() => window.pwned), undefined);
  // The browser reports a picture that the policy has blocked as a failed request with that reason.
  const outside = asked.filter((request) => /example\.org/.test(request.url())).map((request) => `${request.url()} ${request.failure()?.errorText}`);
  assert.deepEqual(outside.filter((each) => !/track\.png (?:csp|net::ERR_BLOCKED_BY_CSP)$/.test(each)), []);
  console.log("a hostile answer ran, loaded and opened nothing");
}

async function isAccessible({ wb, chat, shot }) {
  const frame = await chat();
  await send(frame, "show");
  await frame.locator(".approval.pending").waitFor();
  await frame.locator("#plan summary").click();
  await frame.locator(".tool summary .verb").first().click();
  await frame.locator("#composer textarea").pressSequentially("/");
  await frame.locator(".menu li").first().waitFor();
  for (const theme of THEMES) {
    await wear(theme, { wb, frame });
    const faults = await seriousFaults(frame);
    await shot(`axe-${theme.replace(/ /g, "-")}`);
    assert.deepEqual(faults, [], theme);
  }
}

await withChat(async (rig) => {
  await runsNothing(rig);
  await isAccessible(rig);
});
