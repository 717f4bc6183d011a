// The prompt: text, attachments, and what sending means while the agent works.
import { h, icon, iconButton, textButton } from "./dom";
import type { Attachment, FromView, SessionView } from "./messages";

type How = Extract<FromView, { type: "submit" }>["how"];

export interface Draft {
  readonly text: string;
  readonly attachments: readonly Attachment[];
}

interface Host {
  readonly send: (message: FromView) => void;
  /** The draft changed: keep it. */
  readonly keep: () => void;
}

const MAX_HEIGHT_PX = 240;
const MODES: Readonly<Record<SessionView["mode"], string>> = { plan: "Plan", ask: "Ask", edits: "Edits", full: "Full" };
const MODE_HELP = "What the agent may do without asking: plan reads only; ask asks before commands and once before edits; edits asks before commands; full asks only for what is never done silently";

export class Composer {
  readonly element: HTMLElement;
  private readonly input: HTMLTextAreaElement;
  private readonly chips = h("ul", { class: "chips", "aria-label": "Attached" });
  private readonly whileBusy: HTMLElement;
  private readonly sendButton: HTMLButtonElement;
  private readonly stopButton: HTMLButtonElement;
  private readonly mode = h("select", { "aria-label": "Mode", title: MODE_HELP });
  private readonly model: HTMLButtonElement;
  private readonly meter = h("span", { class: "context dim" });
  private attachments: Attachment[] = [];
  private isBusy = false;

  constructor(private readonly host: Host) {
    this.input = h("textarea", { rows: 1, "aria-label": "Message to the agent", placeholder: "What should change?" });
    this.sendButton = iconButton("send", "Send (Enter)", () => { this.submit("send"); }, { class: "icon send" });
    this.stopButton = iconButton("debug-stop", "Stop (Escape)", () => { host.send({ type: "stop" }); }, { class: "icon stop" });
    this.model = textButton("", () => { host.send({ type: "command", command: "configure" }); }, { class: "link model", title: "Model, effort and mode" });
    this.whileBusy = h(
      "div",
      { class: "while-busy" },
      textButton("Steer", () => { this.submit("send"); }, { class: "link", title: "Tell it now, at its next step (Enter)" }),
      textButton("Queue", () => { this.submit("queue"); }, { class: "link", title: "Tell it when it is done (Alt+Enter)" }),
      textButton("Stop and Send", () => { this.submit("stopFirst"); }, { class: "link", title: "Stop it, then tell it (Ctrl+Shift+Enter)" }),
    );
    for (const [value, label] of Object.entries(MODES)) this.mode.append(h("option", { value }, label));
    const bar = h("div", { class: "bar" }, this.mode, this.model, this.meter, h("span", { class: "grow" }), this.whileBusy, this.stopButton, this.sendButton);
    this.element = h("form", { id: "composer" }, this.chips, this.input, bar);
    this.listen();
  }

  get draft(): Draft {
    return { text: this.input.value, attachments: this.attachments };
  }

  restore({ text, attachments }: Draft): void {
    this.input.value = text;
    this.attachments = [...attachments];
    this.grow();
    this.drawChips();
  }

  attach(attachment: Attachment): void {
    this.attachments.push(attachment);
    this.drawChips();
    this.host.keep();
  }

  focus(): void {
    this.input.focus();
  }

  show(session: SessionView): void {
    this.isBusy = session.activity === "working" || session.activity === "waiting";
    this.input.placeholder = this.isBusy ? "Steer it while it works…" : "What should change?";
    this.input.disabled = this.sendButton.disabled = session.readOnly;
    this.stopButton.hidden = !this.isBusy;
    this.whileBusy.hidden = !this.isBusy || this.input.value === "";
    this.mode.value = session.mode;
    this.mode.disabled = session.id === "";
    this.model.textContent = [session.model, session.effort].filter((word) => word !== "").join(" · ") || "Model";
    this.showUsage(session.usage);
  }

  private showUsage(usage: SessionView["usage"]): void {
    if (!usage) {
      this.meter.textContent = "";
      return;
    }
    const percent = Math.round((100 * usage.contextTokens) / Math.max(1, usage.contextWindowTokens));
    const count = (tokens: number) => tokens.toLocaleString("en");
    this.meter.textContent = `${percent}%`;
    this.meter.title = `Context ${count(usage.contextTokens)} of ${count(usage.contextWindowTokens)} tokens. This session: ${count(usage.inputTokens)} in (${count(usage.cacheReadTokens)} from cache), ${count(usage.outputTokens)} out.`;
    this.meter.setAttribute("aria-label", this.meter.title);
    this.meter.setAttribute("role", "img");
  }

  private listen(): void {
    const { host, input, mode } = this;
    input.addEventListener("input", () => {
      this.grow();
      this.whileBusy.hidden = !this.isBusy || input.value === "";
      host.keep();
    });
    input.addEventListener("keydown", (event) => { this.onKey(event); });
    input.addEventListener("paste", (event) => { this.takeImages(event, event.clipboardData); });
    input.addEventListener("drop", (event) => { this.takeImages(event, event.dataTransfer); });
    mode.addEventListener("change", () => { host.send({ type: "mode", mode: mode.value as SessionView["mode"] }); });
    this.element.addEventListener("submit", (event) => { event.preventDefault(); });
  }

  private onKey(event: KeyboardEvent): void {
    if (event.isComposing) return;
    if (event.key === "Escape" && this.isBusy) this.host.send({ type: "stop" });
    if (event.key !== "Enter" || (event.shiftKey && !event.ctrlKey && !event.metaKey)) return;
    event.preventDefault();
    const isChord = event.shiftKey && (event.ctrlKey || event.metaKey);
    this.submit(this.isBusy && isChord ? "stopFirst" : this.isBusy && event.altKey ? "queue" : "send");
  }

  private submit(how: How): void {
    const { text, attachments } = this.draft;
    if (this.input.disabled || (text.trim() === "" && attachments.length === 0)) return;
    this.restore({ text: "", attachments: [] });
    this.whileBusy.hidden = true;
    this.host.keep();
    this.host.send({ type: "submit", text, attachments, how });
    this.input.focus();
  }

  private grow(): void {
    this.input.style.height = "auto";
    this.input.style.height = `${Math.min(this.input.scrollHeight, MAX_HEIGHT_PX)}px`;
  }

  private drawChips(): void {
    const remove = (attachment: Attachment) => () => {
      this.attachments = this.attachments.filter((each) => each !== attachment);
      this.drawChips();
      this.host.keep();
      this.input.focus();
    };
    this.chips.replaceChildren(
      ...this.attachments.map((attachment) =>
        h("li", {}, icon(attachment.part.type === "image" ? "file-media" : "file-code"), attachment.label, iconButton("close", `Remove ${attachment.label}`, remove(attachment)))),
    );
    this.chips.hidden = this.attachments.length === 0;
  }

  private takeImages(event: Event, data: DataTransfer | null): void {
    const images = [...(data?.files ?? [])].filter((file) => file.type.startsWith("image/"));
    if (images.length === 0) return;
    event.preventDefault();
    for (const file of images) void this.attachImage(file);
  }

  private async attachImage(file: File): Promise<void> {
    const url = await new Promise<string>((resolve, reject) => {
      const reader = new FileReader();
      reader.onload = () => { resolve(reader.result as string); };
      reader.onerror = () => { reject(new Error(`${file.name} cannot be read`)); };
      reader.readAsDataURL(file);
    });
    const part = { type: "image", mediaType: file.type, data: url.slice(url.indexOf(",") + 1) } as const;
    this.attach({ label: file.name === "" ? "picture" : file.name, part });
  }
}
