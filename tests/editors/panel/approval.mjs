// Shows approvals and finished changes in Chromium at several sizes, and measures whether what differs is in sight. Prints JSON
// lines, which the Python test reads.
//
//   APPROVAL='{"sources": "vscode-extension", "pictures": "…", "rig": "…"}' node approval.mjs
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const { sources, pictures, rig } = JSON.parse(process.env.APPROVAL);
const { chromium } = createRequire(path.join(rig, "npm/package.json"))("playwright-core");
const { build } = createRequire(path.join(sources, "package.json"))("esbuild");

const INDENT = " ".repeat(16);
const change = (before, after) => [
  "@@ -270,9 +270,9 @@", ...["one", "two", "three"].map((word) => ` ${INDENT}# comment ${word} about what the next line decides`),
  `-${INDENT}${before}`, `+${INDENT}${after}`, ...["four", "five", "six"].map((word) => ` ${INDENT}${word}()`),
].join("\n");
const RULES = ["Edit files in this session", "Edit files below h11/ in this project", "Edit files below h11/, always"]
  .map((label, i) => ({ id: `r${i}`, label: `Allow: ${label}`, scope: ["session", "project", "user"][i], allows: ["write h11/other.txt"], stillAsked: ["write other.txt"] }));
const ASKED = {
  kind: "approval", id: "a1", index: 1, status: "pending", tool: "edit_file", summary: "h11/_headers.py", why: "Mode Ask: edits need your approval.",
  command: "", trust: "", text: "", where: "", paths: [], rules: RULES, reason: "", scope: "", instead: "", about: "Send the header for old peers too", isRedundant: false,
};
const FILES = {
  end: ['if request.http_version < b"1.1":', 'if request.http_version == b"1.0":'],
  long: [`headers = normalize_and_validate(${"argument, ".repeat(12)}strict=True)`, `headers = normalize_and_validate(${"argument, ".repeat(12)}strict=False)`],
  word: [`token = "${"a".repeat(120)}1"`, `token = "${"a".repeat(120)}2"`],
};
const THEMES = {
  dark: { "--vscode-editor-background": "#1f1f1f", "--vscode-editorWidget-background": "#202020", "--vscode-widget-border": "#313131", "--vscode-button-secondaryBackground": "#313131", "--vscode-editorWarning-foreground": "#cca700", "--vscode-descriptionForeground": "#9d9d9d", "--vscode-menu-selectionBackground": "#0078d4", "--vscode-menu-selectionForeground": "#fff", "--vscode-foreground": "#ccc", "--vscode-diffEditor-insertedLineBackground": "#37482866", "--vscode-diffEditor-removedLineBackground": "#4b181866", "--vscode-diffEditor-insertedTextBackground": "#9ccc2c55", "--vscode-diffEditor-removedTextBackground": "#ff000055", "--vscode-button-background": "#0078d4", "--vscode-button-foreground": "#fff" },
  light: { "--vscode-editor-background": "#fff", "--vscode-editorWidget-background": "#f8f8f8", "--vscode-widget-border": "#e5e5e5", "--vscode-button-secondaryBackground": "#e5e5e5", "--vscode-editorWarning-foreground": "#bf8803", "--vscode-descriptionForeground": "#3b3b3b", "--vscode-menu-selectionBackground": "#005fb8", "--vscode-menu-selectionForeground": "#fff", "--vscode-foreground": "#333", "--vscode-diffEditor-insertedLineBackground": "#9bb95533", "--vscode-diffEditor-removedLineBackground": "#ff000033", "--vscode-diffEditor-insertedTextBackground": "#9ccc2c80", "--vscode-diffEditor-removedTextBackground": "#ff000055", "--vscode-button-background": "#005fb8", "--vscode-button-foreground": "#fff" },
  contrast: { "--vscode-editor-background": "#000", "--vscode-foreground": "#fff", "--vscode-contrastBorder": "#6fc3df", "--vscode-button-background": "#000", "--vscode-button-foreground": "#fff" },
};

const COMMAND = { ...ASKED, id: "a2", tool: "shell", files: [], command: `${"make build && ".repeat(60)}make deploy`, why: "" };
const END = {
  kind: "end", id: "n1", index: 4, files: [], text: "", canContinue: false, isRedundant: false, outcome: "",
  facts: { text: "Since the last change: `python -m pytest -q` failed (exit 1).", outcome: "failed", command: "python -m pytest -q" },
};
const SHORT = { ...COMMAND, id: "a3", command: "make deploy" };
const CALL = { ...COMMAND, id: "a4", tool: "tickets_create", command: "", text: "a line of the arguments\n".repeat(90) };
const added = (name, count) => ["@@ -0,0 +1 @@", ...Array.from({ length: count }, (_, i) => `+${name} line ${i + 1}`)].join("\n");
const LONG = { ...ASKED, id: "a5", files: [{ path: "h11/new.py", action: "create", diff: added("new", 900) }], last: "new line 900" };
const SEVERAL = { ...ASKED, id: "a6", files: ["one", "two", "three"].map((name) => ({ path: `h11/${name}.py`, action: "create", diff: added(name, 12) })), last: "three line 12" };
const ROW = {
  kind: "tool", index: 3, name: "read_file", look: "read", doing: "Reading", done: "Read", background: false, lines: "", finding: null, output: "", cutChars: 0,
  arguments: "{}", allowed: "", group: "", isRedundant: false, hasTerminal: false, killable: null, sinceMs: null,
};
const ROWS = [
  { ...ROW, id: "deep", status: "done", summary: `${"folder/".repeat(12)}name.py`, target: "x", outcome: "12 lines" },
  { ...ROW, id: "short", status: "failed", name: "edit_file", look: "edit", summary: "a.py", target: "x", outcome: "Not run: stopped" },
];

const FINISHED = {
  kind: "file", id: "f1", index: 2, uri: "file:///h11/_headers.py", path: "h11/_headers.py", action: "modify", added: 1, removed: 1, openIds: ["h1"],
  states: [{ state: "pending", count: 1 }], movedFrom: "", isProposed: false, callId: "",
};

const bundle = await build({
  stdin: { contents: 'export { approvalElement } from "./approval"; export { itemElement } from "./render"; export { ToolCard } from "./tool_card";', resolveDir: path.join(sources, "src/webview"), loader: "ts" },
  bundle: true, format: "iife", globalName: "Page", write: false, logLevel: "error",
});
const style = fs.readFileSync(path.join(sources, "src/webview/style.css"), "utf8");
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage();

/** The parts of the page that are not completely in sight, by a word for each. */
function outOfSight() {
  const diff = document.querySelector(".changes") ?? document.querySelector(".diff"), box = diff.getBoundingClientRect();
  // A blank at the end of a wrapped line hangs over the edge, so only letters are measured.
  const letters = (part) => [...part.firstChild.data].flatMap((letter, i) => {
    const range = document.createRange();
    range.setStart(part.firstChild, i);
    range.setEnd(part.firstChild, i + 1);
    return letter.trim() === "" ? [] : [range.getBoundingClientRect()];
  });
  const isIn = (part) => letters(part).every((at) => at.left >= box.left && at.right <= box.right + 1 && at.top >= box.top - 1 && at.bottom <= box.bottom + 1 && at.bottom <= innerHeight);
  const marks = [...document.querySelectorAll(".diff mark")];
  const buttons = [...document.querySelectorAll(".approval.pending .answers button")].filter((it) => it.offsetParent !== null);
  const isShown = (button) => { const at = button.getBoundingClientRect(); return at.right <= innerWidth && at.bottom <= innerHeight; };
  return [
    ...(marks.length < 2 ? ["no marks"] : []), ...marks.filter((it) => !isIn(it)).map((it) => `mark ${it.textContent}`),
    ...buttons.filter((it) => !isShown(it)).map((it) => `button ${it.textContent}`), ...(diff.scrollWidth > diff.clientWidth ? ["scrolls sideways"] : []),
    ...(document.documentElement.scrollWidth > innerWidth ? ["page scrolls sideways"] : []),
  ];
}

/** Whether the beginning of a long command and the buttons are not in sight together, or what a call works on is not. */
function commandOutOfSight() {
  const shown = [document.querySelector("h2"), ...document.querySelectorAll(".approval.pending .answers button")].filter((it) => it.offsetParent !== null);
  const box = document.querySelector(".command");
  return [
    ...shown.filter((it) => { const at = it.getBoundingClientRect(); return at.top < 0 || at.bottom > innerHeight || at.right > innerWidth; }).map((it) => it.textContent),
    ...(box.scrollHeight > box.clientHeight + 2 === document.querySelector(".goes-on").hidden ? ["that the command goes on"] : []),
  ];
}

/** The evidence of a turn, if it is not within the end of the turn. */
function evidenceOutOfPlace() {
  const [turn, line] = [".turn", ".turn > p"].map((each) => document.querySelector(each).getBoundingClientRect());
  const isWithin = line.height > 0 && line.top >= turn.top && line.bottom <= turn.bottom + 1 && line.left >= turn.left && line.right <= turn.right + 1;
  return isWithin ? [] : [`evidence at ${line.top} in ${turn.top} to ${turn.bottom}`];
}

/**
 * What is wrong with *Allow Once*: it answers only after the end of the box was in view, and until then it scrolls on. A
 * reader of 900 lines scrolls to the end after three presses.
 */
async function allowedUnread(last = "") {
  const box = document.querySelector(".command, .changes, .diff"), button = document.querySelector("[data-action=once]"), note = document.querySelector(".goes-on");
  const isAtEnd = () => box.scrollTop + box.clientHeight >= box.scrollHeight - 2;
  const isLong = !isAtEnd(), faults = [];
  const frames = () => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); });
  for (let press = 0; globalThis.sent.length === 0 && press < 60; press++) {
    if (press === 3 && last.endsWith("900")) { box.scrollTop = box.scrollHeight; await frames(); }
    const was = box.scrollTop, hadEnd = isAtEnd();
    button.click();
    if (globalThis.sent.length > 0 && !hadEnd) faults.push(`allowed at ${box.scrollTop} of ${box.scrollHeight}`);
    if (globalThis.sent.length === 0 && (box.scrollTop <= was || box.scrollTop > was + box.clientHeight || note.hidden)) faults.push(`press ${press} does not scroll on by less than a page`);
    await frames();
  }
  const at = button.getBoundingClientRect();
  return [...faults, ...(box.textContent.trimEnd().endsWith(last) ? [] : ["the last line"]), ...(globalThis.sent.length === 1 ? [] : ["not allowed at the end"]), ...(isLong !== note.textContent.startsWith("Read it") ? ["the sentence"] : []), ...(at.bottom > innerHeight ? ["the button"] : [])];
}

/** What is wrong with the open menu: it lies in the window and beside what it answers, which has not moved. */
function menuOutOfPlace(before) {
  const [menu, split] = [".answer-menu", ".split"].map((each) => document.querySelector(each).getBoundingClientRect());
  const items = [...document.querySelectorAll(".answer-menu [role=menuitem]")].map((it) => [it.textContent, it.getBoundingClientRect()]);
  const isIn = (at) => at.top >= 0 && at.left >= 0 && at.right <= innerWidth && at.bottom <= innerHeight;
  const now = document.querySelector(".approval").getBoundingClientRect();
  return [
    ...items.filter(([, at]) => !isIn(at)).map(([text]) => text), ...(isIn(menu) ? [] : ["the menu"]),
    ...(menu.bottom <= split.top || menu.top >= split.bottom ? [] : ["it covers its button"]),
    ...(now.top === before.top && now.height === before.height ? [] : ["the card has moved"]),
  ];
}

function rowsOutOfSight() {
  const isCut = (it) => it.scrollWidth > it.clientWidth + 1;
  return [...document.querySelectorAll(".path > span:last-child, .outcome")].filter(isCut).map((it) => it.textContent);
}

for (const [theme, colours] of Object.entries(THEMES)) {
  for (const width of [280, 320, 420, 900]) {
    for (const [name, [before, after]] of Object.entries(FILES)) {
      await page.setViewportSize({ width, height: 480 });
      await page.setContent(`<style>${style}</style><style>:root { ${Object.entries(colours).map((pair) => pair.join(": ")).join("; ")}; --vscode-editor-font-family: monospace; --vscode-font-family: sans-serif; --vscode-font-size: 13px; --vscode-editor-font-size: 13px } body { background: var(--vscode-editor-background); color: var(--vscode-foreground); padding: 0 12px }</style><main id="transcript"></main>`);
      await page.addScriptTag({ content: bundle.outputFiles[0].text });
      const asked = { ...ASKED, files: [{ path: "h11/_headers.py", action: "modify", diff: change(before, after) }] };
      await page.evaluate((item) => { document.getElementById("transcript").append(globalThis.Page.approvalElement(item, () => undefined, false)); }, asked);
      process.stdout.write(`${JSON.stringify({ theme, width, name, lost: await page.evaluate(outOfSight) })}\n`);
      if ((name === "end" || name === "word") && pictures) await page.screenshot({ path: path.join(pictures, `approval-${name === "end" ? "" : "word-"}${theme}-${width}.png`) });
      await page.evaluate((item) => {
        const context = { send: () => undefined, expanded: new Map(), isReadOnly: () => false, sendAgain: () => undefined, focusPrompt: () => undefined, fold: () => undefined, toggleCall: () => undefined };
        document.getElementById("transcript").replaceChildren(globalThis.Page.itemElement(item, context));
      }, { ...FINISHED, diff: asked.files[0].diff });
      process.stdout.write(`${JSON.stringify({ theme, width, name: `finished ${name}`, lost: await page.evaluate(outOfSight) })}\n`);
      if (name === "end" && pictures) await page.screenshot({ path: path.join(pictures, `finished-${theme}-${width}.png`) });
      if (name !== "end") continue;
      await page.evaluate((item) => {
        const context = { send: () => undefined, expanded: new Map(), isReadOnly: () => false, sendAgain: () => undefined, focusPrompt: () => undefined, fold: () => undefined, toggleCall: () => undefined };
        document.getElementById("transcript").replaceChildren(globalThis.Page.itemElement(item, context));
      }, END);
      await page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); }));
      process.stdout.write(`${JSON.stringify({ theme, width, name: "evidence", lost: await page.evaluate(evidenceOutOfPlace) })}\n`);
      if (pictures) await page.screenshot({ path: path.join(pictures, `evidence-${theme}-${width}.png`) });
      const context = "{ send() {}, expanded: new Map(), isReadOnly: () => false }";
      await page.evaluate((item) => { document.getElementById("transcript").replaceChildren(globalThis.Page.approvalElement(item, () => undefined, false)); scrollTo(0, 9999); }, COMMAND);
      await page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); }));
      process.stdout.write(`${JSON.stringify({ theme, width, name: "command", lost: await page.evaluate(commandOutOfSight) })}\n`);
      if (pictures) await page.screenshot({ path: path.join(pictures, `command-${theme}-${width}.png`) });
      for (const item of [COMMAND, SHORT, CALL, LONG, SEVERAL]) {
        await page.evaluate((asked) => { globalThis.sent = []; document.getElementById("transcript").replaceChildren(globalThis.Page.approvalElement(asked, (message) => { globalThis.sent.push(message); }, false)); }, item);
        await page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); }));
        process.stdout.write(`${JSON.stringify({ theme, width, name: `allow ${item.id}`, lost: await page.evaluate(allowedUnread, item.last) })}\n`);
        if (pictures && item !== SHORT) await page.screenshot({ path: path.join(pictures, `read-${item.id}-${theme}-${width}.png`) });
      }
      await page.evaluate(`document.getElementById("transcript").replaceChildren(...${JSON.stringify(ROWS)}.map((row) => new Page.ToolCard(row, ${context}).element))`);
      process.stdout.write(`${JSON.stringify({ theme, width, name: "rows", lost: await page.evaluate(rowsOutOfSight) })}\n`);
      if (pictures) await page.screenshot({ path: path.join(pictures, `rows-${theme}-${width}.png`) });
      await page.evaluate((item) => { document.getElementById("transcript").replaceChildren(globalThis.Page.approvalElement(item, () => undefined, false)); }, asked);
      const card = await page.evaluate(() => { const { top, height } = document.querySelector(".approval").getBoundingClientRect(); return { top, height }; });
      await page.click("button.more");
      process.stdout.write(`${JSON.stringify({ theme, width, name: "menu", lost: await page.evaluate(menuOutOfPlace, card) })}\n`);
      const rows = await page.evaluate(() => [...document.querySelectorAll(".answer-menu [role=menuitem]")].map((it) => ({ height: it.getBoundingClientRect().height, text: it.textContent })));
      process.stdout.write(`${JSON.stringify({ theme, width, rows })}\n`);
      if (pictures) await page.screenshot({ path: path.join(pictures, `approval-menu-${theme}-${width}.png`) });
    }
  }
}
await browser.close();
