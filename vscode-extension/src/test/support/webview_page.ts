// Runs the built chat page in a DOM without layout. Tests send it the extension's messages, and it records its own.
import { readFileSync } from "node:fs";
import { JSDOM } from "jsdom";
import { Feed } from "../../chat/feed";
import type { Snapshot } from "../../snapshot/items";
import type { FromView, Posted, ToView } from "../../webview/messages";

const SCRIPT = readFileSync(process.env["AGENT_LS_PAGE_SCRIPT"] ?? "out/webview/main.js", "utf8");

export class WebviewPage {
  /** Messages for user actions. Automatic messages are recorded in the fields below. */
  readonly sent: FromView[] = [];
  readonly drafts: Extract<Posted, { type: "draft" }>[] = [];
  /** The session id of the last message. */
  of = "";
  drawn = 0;
  /** The last value that the page reported. */
  hasKeyboard = false;
  modelsAsked = 0;
  homeAsked = 0;
  modelsLooked = 0;
  readonly dom: JSDOM;
  readonly document: Document;
  state: unknown;

  /** `onPosted` is called with each message of the page. */
  constructor(state?: unknown, onPosted: (message: Posted) => void = () => undefined) {
    this.state = state;
    this.dom = new JSDOM("<!DOCTYPE html><html lang='en'><head><title>agent-ls</title></head><body><main id='app'></main></body></html>", {
      runScripts: "outside-only",
      pretendToBeVisual: true,
    });
    this.document = this.dom.window.document;
    Object.assign(this.dom.window, {
      // There is no layout, so sizes never change.
      ResizeObserver: class { observe(): void { return; } },
      acquireVsCodeApi: () => ({
        // Copy the message, as VS Code does.
        postMessage: (message: Posted) => {
          const copy = structuredClone(message);
          this.take(copy);
          queueMicrotask(() => { onPosted(copy); }); // never during the call, as in VS Code
        },
        getState: () => this.state,
        setState: (now: unknown) => (this.state = now),
      }),
    });
    this.dom.window.Element.prototype.scrollIntoView = () => undefined;
    this.dom.window.eval(SCRIPT);
  }

  private take(posted: Posted): void {
    const { of, ...message } = posted;
    if (message.type === "drawn") this.drawn += 1;
    else if (message.type === "keyboard") this.hasKeyboard = message.isHere;
    else if (message.type === "home") this.homeAsked += 1;
    else if (message.type === "models") {
      this.modelsAsked += 1;
      if (message.look) this.modelsLooked += 1;
    }
    else if (posted.type === "draft") this.drafts.push(posted);
    else {
      this.of = of;
      this.sent.push(message);
    }
  }

  receive(message: ToView | undefined): void {
    if (message) this.dom.window.dispatchEvent(new this.dom.window.MessageEvent("message", { data: message }));
  }

  /** Displays a snapshot with the message that the extension sends to a new page. */
  show(s: Snapshot): Feed {
    const feed = new Feed({ relative: (path) => path.replace("/home/ada/shop/", "") });
    this.receive(feed.takeNewestPage(s));
    return feed;
  }

  find(selector: string): HTMLElement {
    const found = this.document.querySelector<HTMLElement>(selector);
    if (!found) throw new Error(`nothing at ${selector} in:\n${this.document.body.innerHTML}`);
    return found;
  }

  button(label: string): HTMLButtonElement {
    const all = [...this.document.querySelectorAll("button")];
    const found = all.find((button) => button.textContent === label || button.getAttribute("aria-label") === label);
    if (!found) throw new Error(`no button ${label} among ${all.map((button) => button.textContent || button.getAttribute("aria-label")).join(", ")}`);
    return found;
  }

  /** Returns the action of a menu with this label. The menu need not be open. */
  action(label: string): HTMLButtonElement {
    const all = [...this.document.querySelectorAll<HTMLButtonElement>("[role=menuitem]")];
    const found = all.find((item) => item.querySelector(".label")?.textContent === label);
    if (!found) throw new Error(`no action ${label} among ${all.map((item) => item.textContent).join(", ")}`);
    return found;
  }

  get prompt(): HTMLTextAreaElement {
    return this.find("textarea") as HTMLTextAreaElement;
  }

  type(text: string): void {
    const input = this.prompt;
    input.value = text;
    input.dispatchEvent(new this.dom.window.Event("input", { bubbles: true }));
  }

  press(key: string, more: KeyboardEventInit = {}): void {
    this.find("textarea").dispatchEvent(new this.dom.window.KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }));
  }

  /** Waits until the page has drawn a frame, with the requests made before. */
  frame(): Promise<void> {
    return new Promise((done) => { this.dom.window.requestAnimationFrame(() => { done(); }); });
  }

  close(): void {
    this.dom.window.close();
  }
}
