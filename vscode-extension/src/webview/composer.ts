// The prompt: its text, its attachments, and the buttons to steer, queue, or stop and send while the agent works.
import { Chips, IMAGE_TYPES, alongElement, droppedFiles, readImage, describeRefusal } from "./chips";
import { h, iconButton, isComposing, textButton } from "./dom";
import { Mentions } from "./mentions";
import type { Along, Attachment, DraftView, FromView, Offer, SessionView } from "./messages";
import { Toolbar } from "./toolbar";

type How = Extract<FromView, { type: "submit" }>["how"];

interface Host {
  readonly send: (message: FromView) => void;
  /** Called when a message is sent. */
  readonly onSent: () => void;
  /** Called when the draft has changed, to save it. */
  readonly onDraftChange: () => void;
  /** Shows a text below the prompt and announces it. */
  readonly say: (text: string) => void;
}

const MAX_HEIGHT_PX = 240;
const WIDE_PX = 320; // minimum width of the input for the long placeholders
const START = { long: "What should change?  @ attaches, / commands", short: "What should change?  (@ /)" };
const PLACEHOLDERS: Readonly<Record<SessionView["activity"] | "readOnly", { readonly long: string; readonly short: string }>> = {
  working: { long: "Steer the agent while it works…", short: "Steer the agent…" },
  waiting: { long: "Waiting for your answer above…", short: "Waiting for your answer…" },
  readOnly: { long: "Read-only: owned by another editor", short: "Read only" },
  idle: START, closed: START,
};

export class Composer {
  readonly element: HTMLElement;
  readonly toolbar: Toolbar;
  private readonly input = h("textarea", { rows: 1, "aria-label": "Message to the agent", placeholder: "What should change?" });
  private readonly chips: Chips;
  private readonly mentions: Mentions;
  private readonly whileBusy: HTMLElement;
  private readonly sendButton: HTMLButtonElement;
  private readonly stopButton: HTMLButtonElement;
  private readonly problem = h("p", { class: "problem", hidden: true });
  private readonly pictures = h("input", { type: "file", accept: IMAGE_TYPES.join(), multiple: true, hidden: true, "aria-label": "Pictures" });
  private readonly along = h("div", { class: "along", hidden: true });
  private isBusy = false;
  private isWide = false;
  private placeholder = START;
  private measured = "";

  constructor(private readonly host: Host) {
    const { send } = host;
    this.chips = new Chips(() => {
      host.onDraftChange();
      this.input.focus();
    });
    this.mentions = new Mentions(this.input, { send, onPromptChange: () => { this.onChange(); }, run: (text) => { send({ type: "submit", text, attachments: [], how: "send" }); } });
    this.toolbar = new Toolbar(send, () => { this.focus(); });
    this.sendButton = iconButton("send", "Send (Enter)", () => { this.submit("send"); }, { class: "icon send" });
    this.stopButton = iconButton("debug-stop", "Stop (Escape)", () => { send({ type: "stop" }); }, { class: "icon stop" });
    this.whileBusy = h(
      "div",
      { class: "while-busy" },
      textButton("Steer", () => { this.submit("send"); }, { class: "link", title: "Send now, for the agent's next step (Enter)" }),
      textButton("Queue", () => { this.submit("queue"); }, { class: "link", title: "Send when the agent is done (Alt+Enter)" }),
      textButton("Stop and Send", () => { this.submit("stopFirst"); }, { class: "link", title: "Stop the turn, then send (Ctrl+Shift+Enter)" }),
    );
    const add = iconButton("add", "Attach a file, lines, problems… (@)", () => { this.mention(); }, { class: "icon add" });
    this.pictures.addEventListener("change", () => { this.takePictures(); });
    const picture = iconButton("file-media", "Attach a picture…", () => { this.pictures.click(); }, { class: "icon picture" });
    const bar = h("div", { class: "bar" }, add, picture, this.pictures, this.toolbar.element, this.stopButton, this.sendButton);
    this.element = h("form", { id: "composer", "aria-label": "Prompt" }, this.mentions.menu.element, this.toolbar.popup, this.along, this.chips.element, this.input, this.problem, this.whileBusy, bar);
    this.listen();
  }

  get draft(): DraftView {
    return { text: this.input.value, attachments: this.chips.all };
  }

  get attachmentsRevision(): number {
    return this.chips.revision;
  }

  restore({ text, attachments }: DraftView): void {
    this.input.value = text;
    this.chips.set(attachments);
    this.onShape();
  }

  attach(attachment: Attachment): void {
    this.chips.add(attachment);
  }

  offer(request: number, offers: readonly Offer[]): void {
    this.mentions.show(request, offers);
  }

  /** Shows the automatic attachment. */
  showAlong(along: Along | null): void {
    const hadFocus = this.along.contains(document.activeElement);
    this.along.hidden = along === null;
    this.along.replaceChildren(...(along ? [alongElement(along, this.host.send)] : []));
    if (hadFocus) this.along.querySelector("button")?.focus();
  }

  focus(): void {
    this.input.focus();
  }

  show(session: SessionView): void {
    this.isBusy = session.activity === "working" || session.activity === "waiting";
    this.placeholder = PLACEHOLDERS[session.readOnly ? "readOnly" : session.activity];
    this.showPlaceholder();
    this.input.disabled = this.sendButton.disabled = session.readOnly;
    this.stopButton.hidden = !this.isBusy || session.readOnly;
    this.toolbar.show(session);
    this.onShape();
  }

  private showPlaceholder(): void {
    const { long, short } = this.placeholder;
    this.input.placeholder = this.isWide ? long : short;
  }

  private listen(): void {
    const { input } = this;
    // Read the width only after a resize, because reading it during a stream would force a layout of the page.
    new ResizeObserver(() => {
      this.isWide = input.clientWidth >= WIDE_PX;
      this.showPlaceholder();
    }).observe(input);
    input.addEventListener("input", () => { this.onChange(); });
    input.addEventListener("keydown", (event) => { this.onKey(event); });
    input.addEventListener("click", () => { this.mentions.updateMenu(); });
    input.addEventListener("paste", (event) => { this.takeFiles(event, event.clipboardData); });
    this.element.addEventListener("dragover", (event) => { event.preventDefault(); });
    this.element.addEventListener("drop", (event) => { this.takeFiles(event, event.dataTransfer); });
    this.element.addEventListener("submit", (event) => { event.preventDefault(); });
  }

  private onChange(): void {
    this.onShape();
    this.mentions.updateMenu();
    this.host.onDraftChange();
  }

  private onShape(): void {
    const { input } = this;
    const isEmpty = input.value.trim() === "" && this.chips.all.length === 0;
    this.whileBusy.hidden = !this.isBusy || isEmpty;
    // Measure only after the text has changed, because measuring during a stream would force a layout of the page.
    if (this.measured === input.value) return;
    this.measured = input.value;
    input.style.height = "auto";
    input.style.height = `${Math.min(input.scrollHeight, MAX_HEIGHT_PX)}px`;
  }

  private onKey(event: KeyboardEvent): void {
    if (isComposing(event) || this.mentions.take(event)) return;
    if (event.key === "Escape" && this.isBusy) this.host.send({ type: "stop" });
    if (event.key !== "Enter" || (event.shiftKey && !event.ctrlKey && !event.metaKey)) return;
    event.preventDefault();
    const isChord = event.shiftKey && (event.ctrlKey || event.metaKey);
    this.submit(this.isBusy && isChord ? "stopFirst" : this.isBusy && event.altKey ? "queue" : "send");
  }

  private submit(how: How): void {
    const { text, attachments } = this.draft;
    if (this.input.disabled || (text.trim() === "" && attachments.length === 0)) return;
    this.mentions.close();
    this.problem.hidden = true;
    this.restore({ text: "", attachments: [] });
    this.host.onDraftChange();
    this.host.send({ type: "submit", text, attachments, how });
    this.host.onSent();
    this.input.focus();
  }

  /** Sends the prompt, after a message that could not be sent was put back there. */
  sendAgain(): void {
    this.submit("send");
    this.input.focus();
  }

  /** Starts a mention at the cursor, like typing `@`. */
  private mention(): void {
    const { input } = this;
    const before = input.value.slice(0, input.selectionStart);
    input.focus();
    input.setRangeText(/(?:^|\s)$/.test(before) ? "@" : " @", input.selectionStart, input.selectionEnd, "end");
    this.onChange();
  }

  private takePictures(): void {
    for (const file of this.pictures.files ?? []) void this.attachImage(file);
    this.pictures.value = "";
    this.input.focus();
  }

  private takeFiles(event: Event, data: DataTransfer | null): void {
    if (!data || this.input.disabled) return;
    const files = [...data.files].filter((file) => file.type.startsWith("image/"));
    const named = event.type === "drop" && files.length === 0 ? droppedFiles(data) : [];
    if (files.length === 0 && named.length === 0) return;
    event.preventDefault();
    for (const attachment of named) this.chips.add(attachment);
    for (const file of files) void this.attachImage(file);
  }

  private async attachImage(file: File): Promise<void> {
    const why = describeRefusal({ name: file.name === "" ? "The picture" : file.name, type: file.type, size: file.size });
    this.problem.hidden = why === undefined;
    this.problem.textContent = why ?? "";
    if (why !== undefined) this.host.say(why);
    else this.chips.add(await readImage(file));
  }
}
