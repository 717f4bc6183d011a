// Elapsed times in the page. One timer updates all of them.
import { h } from "./dom";

const TICK_MS = 1_000;
const running = new Set<HTMLElement>();
let timer: ReturnType<typeof setInterval> | undefined;

export function durationWords(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

function show(clock: HTMLElement): void {
  clock.textContent = durationWords(Date.now() - Number(clock.dataset["since"]));
}

function tick(): void {
  for (const clock of running) {
    if (clock.isConnected) show(clock);
    else running.delete(clock);
  }
  if (running.size > 0) return;
  clearInterval(timer);
  timer = undefined;
}

/** Creates an element with the elapsed time, updated while it is in the page. */
export function clockElement(sinceMs: number): HTMLElement {
  const clock = h("span", { class: "clock", "data-since": sinceMs, "aria-hidden": "true" });
  running.add(clock);
  show(clock);
  timer ??= setInterval(tick, TICK_MS);
  return clock;
}
