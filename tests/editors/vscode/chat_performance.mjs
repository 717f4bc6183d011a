// 10,000 deltas and a history of 2,000 items in the real chat.
// Prints the longest task of the webview, the duration of each part, and the heap size of the page. The requirement is
// 100 ms for the longest task on a machine without other load. The limits here are higher, so that on any machine only
// a page fails whose work or memory grows with the session. The time of a task is the CPU time of its thread, because
// on a shared machine the elapsed time includes waits for other processes.
// req: H9, H17
import assert from "node:assert/strict";
import { send, withChat } from "./chat_rig.mjs";

const ITEMS = 2000;
const DELTAS = 10000;
const LONGEST_TASK_MS = 1000;
const HEAP_GROWTH_MB = 30; // only the growth is checked, because the page shares its heap with the workbench
const CATEGORIES = ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"];
const OURS = /agent-ls\.agent-ls[^ ]*\/webview\/main\.js/;

/** Returns the tasks of a trace that ran the page's script or laid out its frame, the longest first. */
function tasksOf(trace, frameIds) {
  const events = JSON.parse(trace.toString()).traceEvents;
  const ours = events.filter(({ args }) => OURS.test(args?.data?.url ?? "") || frameIds.has(args?.data?.frame) || frameIds.has(args?.beginData?.frame));
  const threads = new Set(ours.map(({ pid, tid }) => `${pid}:${tid}`));
  const marks = new Map([...threads].map((thread) => [thread, ours.filter(({ pid, tid }) => `${pid}:${tid}` === thread).sort((a, b) => a.ts - b.ts)]));
  const tasks = events.filter(({ name, pid, tid, ph }) => ph === "X" && /RunTask$/.test(name) && threads.has(`${pid}:${tid}`));
  const found = [];
  for (const task of tasks) {
    if ((task.tdur ?? task.dur) < 5000) continue;
    const inside = marks.get(`${task.pid}:${task.tid}`).filter(({ ts }) => ts >= task.ts && ts <= task.ts + task.dur);
    if (inside.length > 0) found.push({ workMs: Math.round((task.tdur ?? task.dur) / 1000), wallMs: Math.round(task.dur / 1000), what: [...new Set(inside.map(({ name }) => name))].slice(0, 5).join(" ") });
  }
  return found.sort((a, b) => b.workMs - a.workMs);
}

await withChat(async ({ wb, until, chat, shot }) => {
  const frame = await chat();
  const inspector = await wb.page.context().newCDPSession(wb.page);
  const ids = (tree) => [...(/webview/.test(tree.frame.url) ? [tree.frame.id] : []), ...(tree.childFrames ?? []).flatMap(ids)];
  const frameIds = new Set(ids((await inspector.send("Page.getFrameTree")).frameTree));
  const heap = async () => {
    await inspector.send("HeapProfiler.collectGarbage");
    return Math.round((await inspector.send("Runtime.getHeapUsage")).usedSize / 1e5) / 10;
  };
  const heapBefore = await heap();
  const results = {};
  const part = async (name, run) => {
    await wb.browser.startTracing(wb.page, { categories: CATEGORIES });
    const startMs = performance.now();
    await run();
    const tookMs = Math.round(performance.now() - startMs);
    const tasks = tasksOf(await wb.browser.stopTracing(), frameIds);
    const page = await frame.evaluate(() => ({ elements: document.querySelectorAll("*").length, articles: document.querySelectorAll("#transcript article").length }));
    results[name] = { tookMs, longestMs: tasks[0]?.workMs ?? 0, heapMB: await heap(), ...page };
    console.log(name.padEnd(32), JSON.stringify(results[name]), "\n  longest:", JSON.stringify(tasks.slice(0, 3)));
  };

  await part("opens a long session", async () => {
    await send(frame, "hello");
    await frame.locator("article.text", { hasText: "You said: hello" }).waitFor();
  });
  await shot("performance-opened");
  await part(`${DELTAS} deltas`, async () => {
    await send(frame, `stream ${DELTAS}`);
    // Type while the answer is streamed: each key must have its effect.
    await frame.locator("#composer textarea").pressSequentially("typed while it streams", { delay: 40 });
    await frame.locator("article.text", { hasText: `Streamed ${DELTAS}.` }).waitFor({ timeout: 120000 });
  });
  assert.equal(await frame.locator("#composer textarea").inputValue(), "typed while it streams");
  await part(`scrolls back through ${ITEMS} items`, async () => {
    for (let pages = 0; pages < 200; pages++) {
      await frame.evaluate(() => { document.getElementById("transcript").scrollTop = 0; });
      await until(() => frame.evaluate(() => document.getElementById("transcript").scrollTop > 0 || document.querySelector(".more").hidden), "the page before", 20000);
      if (await frame.locator(".more").isHidden()) break;
    }
    await frame.locator("article.user", { hasText: "Question 0:" }).waitFor();
  });
  await shot("performance-first-item");
  await part("back at the end, one more turn", async () => {
    await frame.locator(".to-end").click();
    await send(frame, "stream 500");
    await frame.locator("article.text", { hasText: "Streamed 500." }).waitFor({ timeout: 60000 });
  });
  const longest = Math.max(...Object.values(results).map((each) => each.longestMs));
  const growth = Math.max(...Object.values(results).map((each) => each.heapMB)) - heapBefore;
  console.log(`longest task ${longest} ms; heap ${heapBefore} MB, at most ${growth.toFixed(1)} MB more`);
  assert.ok(longest < LONGEST_TASK_MS, `a task took ${longest} ms`);
  assert.ok(growth < HEAP_GROWTH_MB, `the page holds ${growth} MB more`);
});
