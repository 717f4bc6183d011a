// Highlights code after it is displayed, in slices of a few milliseconds, so that text appears at once.
import hljs from "highlight.js/lib/core";
import { LANGUAGES } from "./languages";

for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);

const MAX_CHARS = 20_000; // longer blocks are not highlighted
const SLICE_MS = 8; // maximum time per slice

const waiting: HTMLElement[] = [];
let isScheduled = false;

function isStale(code: HTMLElement): boolean {
  return !code.isConnected;
}

function colour(code: HTMLElement): void {
  const language = code.dataset["language"] ?? "";
  delete code.dataset["language"];
  const text = code.textContent;
  // Setting innerHTML is safe, because highlight.js escapes the code.
  if (text.length <= MAX_CHARS && hljs.getLanguage(language)) code.innerHTML = hljs.highlight(text, { language, ignoreIllegals: true }).value;
}

function work(): void {
  isScheduled = false;
  const startMs = performance.now();
  while (performance.now() - startMs < SLICE_MS) {
    const code = waiting.shift();
    if (!code) return;
    if (!isStale(code)) colour(code);
  }
  schedule();
}

function schedule(): void {
  if (isScheduled || waiting.length === 0) return;
  isScheduled = true;
  setTimeout(work, 0);
}

/** Queues the code blocks of new text for highlighting. */
export function highlightLater(root: ParentNode): void {
  waiting.push(...root.querySelectorAll<HTMLElement>("code[data-language]"));
  schedule();
}
