// Replaces VS Code's webview API in a browser: state that survives a reload, and messages. Import it before the page.
import type { Posted, ToView } from "../webview/messages";

const STATE_KEY = "agent-ls.page";

let receive: ((message: Posted) => void) | undefined;
const early: Posted[] = [];

const api = {
  postMessage(message: Posted): void {
    if (receive) receive(message);
    else early.push(message);
  },
  getState(): unknown {
    try {
      return JSON.parse(sessionStorage.getItem(STATE_KEY) ?? "null") ?? undefined;
    } catch {
      return undefined;
    }
  },
  setState(state: unknown): void {
    try {
      sessionStorage.setItem(STATE_KEY, JSON.stringify(state));
    } catch {
      // The storage is full or turned off: a reload then loses the unsent prompt.
    }
  },
};

Object.assign(globalThis, { acquireVsCodeApi: () => api });

/** Sends the page's messages to `receiver`, including those posted before this call. */
export function onPosted(receiver: (message: Posted) => void): void {
  receive = receiver;
  for (const message of early.splice(0)) receiver(message);
}

export function postToPage(message: ToView): void {
  window.dispatchEvent(new MessageEvent("message", { data: message }));
}
