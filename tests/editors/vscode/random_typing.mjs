// Makes random edits by keys, as a user does, and reads the lines that the editor highlights. The same seed gives the same
// edits.
import { until } from "./driver.mjs";

/** Makes a generator of numbers from 0 to 1 (mulberry32). */
export function makeRandom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const KEYS = ["Enter", "Backspace", "Delete", "Control+Shift+k", "Alt+ArrowDown", "Alt+ArrowUp", "Shift+Alt+ArrowDown", "Shift+Alt+ArrowUp", "Control+Enter", "Control+z"];
const TEXTS = ["x", "mine\n", "two\nlines\n", "\n\n"];

/**
 * Makes an edit: carets or a selection as [first line, column, last line, column], lines from 0, and a text or a key.
 * Two of three edits are near one of the `marks`: above, inside or below it.
 */
export function makeEdit(random, lines, marks) {
  const below = (limit) => Math.floor(random() * limit);
  const choosePosition = () => {
    const mark = marks[below(marks.length)];
    const near = mark && random() < 0.67;
    const line = near ? Math.min(Math.max(mark[0] - 1 + below(mark[1] - mark[0] + 2), 0), lines.length - 1) : below(lines.length);
    // Choose the ends of a line often, because an edit there may touch a change in the next line.
    const column = [0, lines[line].length, below(lines[line].length + 1)][below(3)];
    return [line, column];
  };
  const kind = below(6);
  const act = random() < 0.5 ? { text: TEXTS[below(TEXTS.length)] } : { key: KEYS[below(KEYS.length)] };
  const [line, column] = choosePosition();
  if (kind === 0) {
    const last = Math.min(line + below(3), lines.length - 1);
    return { selections: [[line, column, last, last === line ? lines[line].length : below(lines[last].length + 1)]], ...act };
  }
  if (kind === 1) {
    const [second, there] = choosePosition();
    if (second !== line) return { selections: [[line, column, line, column], [second, there, second, there]], ...act };
  }
  return { selections: [[line, column, line, column]], ...act };
}

/** Sets the selections, and waits until the editor has them. */
export async function select({ workbench, page }, selections) {
  const [first] = selections;
  const position = `Ln ${first[2] + 1}, Col ${first[3] + 1}`;
  const isEmpty = first[0] === first[2] && first[1] === first[3];
  const words = selections.length > 1 ? `${selections.length} selections` : isEmpty ? position : `${position} (`;
  await workbench.eval((vscode, all) => { vscode.window.activeTextEditor.selections = all.map((each) => new vscode.Selection(...each)); }, selections);
  await until(async () => {
    const text = await page.locator("#status\\.editor\\.selection").innerText();
    return text === words || (words.endsWith("(") && text.startsWith(words));
  }, `the status bar to say ${words}`);
}

/** Reads the lines of the active editor as they are drawn, and the numbers of the highlighted ones, from 0. */
export function readDrawnLines({ page }) {
  return page.evaluate(() => {
    const editor = document.querySelector(".editor-group-container.active .monaco-editor");
    const top = (element) => Math.round(element.getBoundingClientRect().top);
    const rows = [...editor.querySelectorAll(".view-lines .view-line")].sort((a, b) => top(a) - top(b));
    const tops = rows.map(top);
    const marked = [...editor.querySelectorAll(".view-overlays .cdr[class*='ced-']")].map((mark) => tops.indexOf(top(mark.parentElement)));
    return { lines: rows.map((row) => row.textContent.replaceAll("\u00a0", " ")), marked: [...new Set(marked)].sort((a, b) => a - b) };
  });
}
