// The toolbar of the prompt: mode, model, effort, context usage and cost.
import { h, icon, isComposing, textButton } from "./dom";
import { type Entry, Menu } from "./menu";
import type { FromView, SessionView } from "./messages";
import { formatMoney } from "../snapshot/money";
import { MODE_WORDS, type ModelsResult } from "../connection/protocol";

type Send = (message: FromView) => void;

const MODES: Readonly<Record<SessionView["mode"], string>> = { plan: "Plan", ask: "Ask", edits: "Edits", full: "Full" };
const MODE_HELP = ["Which actions of the agent are asked about.", ...Object.entries(MODE_WORDS).map(([mode, words]) => `${mode}: ${words}`)].join("\n");

function formatCount(tokens: number): string {
  return tokens.toLocaleString("en");
}

const PARTS = [["system", "· Instructions"], ["tools", "· Tools"], ["documents", "· Project documents"], ["history", "· Conversation"], ["toolOutput", "· Tool output"]] as const;

function formatTokens(tokens: number): string {
  return tokens >= 1_000_000 ? `${tokens / 1_000_000}M` : `${Math.round(tokens / 1000)}k`;
}

/** Returns the menu entries of the models that match the typed words. */
export function modelEntries({ models, providers }: ModelsResult, words: string, now: SessionView, choose: (provider: string, model: string) => void): Entry[] {
  const wanted = words.toLowerCase().split(/\s+/);
  const known = new Map(providers.map((provider) => [provider.id, provider]));
  const fitting = models.filter(({ provider, id, name }) => wanted.every((word) => `${provider} ${known.get(provider)?.name ?? ""} ${id} ${name}`.toLowerCase().includes(word)));
  const hasKey = (provider: string) => known.get(provider)?.hasKey ?? true;
  const inOrder = [...fitting].sort((a, b) => Number(hasKey(b.provider)) - Number(hasKey(a.provider)));
  return inOrder.map(({ provider, id, name, contextTokens, inputPrice, outputPrice, address }) => {
    const facts = [known.get(provider)?.name ?? provider];
    if (!hasKey(provider)) facts.push(`needs ${known.get(provider)?.keyVariable ?? "a key"}`);
    if (typeof address === "string") facts.push(address);
    if (typeof contextTokens === "number") facts.push(formatTokens(contextTokens));
    if (typeof inputPrice === "number" && typeof outputPrice === "number") facts.push(`$${inputPrice}/$${outputPrice}`);
    return {
      icon: hasKey(provider) ? "hubot" : "key", label: name === "" ? id : name, detail: facts.join(" · "),
      isCurrent: now.provider === provider && now.model === id, choose: () => { choose(provider, id); },
    };
  });
}

/** Wraps a control of the toolbar, with an icon if one is given. */
function choice(name: string, control: HTMLElement, sign: HTMLElement | null = null): HTMLElement {
  return h("span", { class: `choice-chip ${name}` }, sign, control, icon("chevron-down"));
}

export class Toolbar {
  readonly element: HTMLElement;
  /** The popup above the toolbar. */
  readonly popup: HTMLElement;
  private readonly mode = h("select", { "aria-label": "Mode", title: MODE_HELP });
  private readonly effort = h("select", { "aria-label": "Effort", title: "Reasoning effort of the model" });
  private readonly effortChip: HTMLElement;
  private readonly model: HTMLButtonElement;
  private readonly meter = h("button", { type: "button", class: "meter", "aria-haspopup": "true", "aria-expanded": "false", hidden: true });
  private readonly facts = h("dl", { class: "facts", hidden: true });
  private readonly filter = h("input", { type: "text", placeholder: "Model", "aria-label": "Model" });
  private readonly menu = new Menu(this.filter, "Models");
  private readonly picker = h("div", { class: "picker", hidden: true }, this.filter, this.menu.element);
  private models: ModelsResult | null = null;
  private session: SessionView | undefined;

  constructor(
    private readonly send: Send,
    private readonly refocus: () => void,
  ) {
    this.model = textButton("Model", () => { this.pickModel(); }, { class: "link model", title: "Model", "aria-haspopup": "listbox" });
    for (const [value, label] of Object.entries(MODES)) this.mode.append(h("option", { value }, label));
    this.effortChip = choice("effort-chip", this.effort, icon("lightbulb"));
    this.effortChip.hidden = true;
    this.element = h("div", { class: "settings" }, choice("mode-chip", this.mode), choice("model-chip", this.model), this.effortChip, this.meter);
    this.popup = h("div", { class: "popups" }, this.picker, this.facts);
    this.mode.addEventListener("change", () => { send({ type: "configure", configuration: { mode: this.mode.value as SessionView["mode"] } }); });
    this.effort.addEventListener("change", () => { send({ type: "configure", configuration: { effort: this.effort.value } }); });
    this.meter.addEventListener("click", () => { this.showFacts(this.facts.hidden); });
    this.meter.addEventListener("keydown", (event) => { if (event.key === "Escape") this.showFacts(false); });
    this.meter.addEventListener("blur", () => { this.showFacts(false); });
    this.filter.addEventListener("input", () => { this.list(); });
    this.filter.addEventListener("keydown", (event) => { this.onKey(event); });
    this.filter.addEventListener("blur", () => { this.picker.hidden = true; });
  }

  show(session: SessionView): void {
    const isNew = this.session?.id !== session.id;
    this.session = session;
    this.mode.disabled = this.model.disabled = this.effort.disabled = session.readOnly;
    this.mode.value = session.mode;
    this.model.textContent = this.nameOf(session);
    this.model.setAttribute("aria-label", `Model: ${this.nameOf(session)}`);
    this.showEfforts(session);
    this.showUsage(session.usage);
    // If there is a session, the server is running, so request its models.
    if (isNew && session.id !== "") this.send({ type: "models", look: false });
  }

  /** Shows the server's models; null: the server does not support the request, so VS Code's picker is used. */
  showModels(models: ModelsResult | null): void {
    this.models = models;
    if (this.session) this.show(this.session);
    if (this.picker.hidden) return;
    if (models && models.models.length > 0) this.list();
    else {
      this.picker.hidden = true;
      this.send({ type: "command", command: "configure" });
    }
  }

  pickModel(): void {
    this.picker.hidden = false;
    this.filter.value = "";
    this.filter.focus();
    if (this.models) this.list();
    this.send({ type: "models", look: true });
  }

  private onKey(event: KeyboardEvent): void {
    if (isComposing(event)) return;
    const wasOpen = this.menu.isOpen;
    const isTaken = this.menu.take(event);
    if (event.key !== "Escape" || !(isTaken || !wasOpen)) return;
    event.stopPropagation();
    this.close();
  }

  private close(): void {
    this.menu.hide();
    this.picker.hidden = true;
    this.refocus();
  }

  private list(): void {
    if (!this.models || !this.session) return;
    this.menu.show(modelEntries(this.models, this.filter.value.trim(), this.session, (provider, model) => {
      this.close();
      this.send({ type: "configure", configuration: { provider, model } });
    }));
  }

  private nameOf({ provider, model }: SessionView): string {
    const known = this.models?.models.find((each) => each.id === model && each.provider === provider);
    return known?.name ?? (model === "" ? "Model" : model);
  }

  private showEfforts({ provider, model, effort }: SessionView): void {
    const known = this.models?.models.find((each) => each.id === model && each.provider === provider)?.efforts ?? [];
    const all = effort === "" || known.includes(effort) ? known : [effort, ...known];
    this.effortChip.hidden = all.length === 0;
    const options = [...(effort === "" ? [h("option", { value: "", disabled: true }, "auto")] : []), ...all.map((value) => h("option", { value }, value))];
    const values = options.map(({ value }) => value).join(" ");
    if (this.effort.dataset["options"] !== values) this.effort.replaceChildren(...options);
    this.effort.dataset["options"] = values;
    this.effort.value = effort;
  }

  private showUsage(usage: SessionView["usage"]): void {
    this.meter.hidden = usage === null;
    if (!usage) return;
    const percent = Math.round((100 * usage.contextTokens) / Math.max(1, usage.contextWindowTokens));
    const spent = usage.totalCostUsd === null ? "" : formatMoney(usage.totalCostUsd);
    const ring = h("span", { class: `ring${percent >= 80 ? " full" : ""}`, "aria-hidden": "true" });
    ring.style.setProperty("--used", `${Math.min(100, percent)}%`);
    this.meter.replaceChildren(ring, h("span", { class: "percent" }, `${percent}%`), spent === "" ? "" : h("span", { class: "spent" }, `· ${spent}`));
    const cached = Math.round((100 * usage.cacheReadTokens) / Math.max(1, usage.inputTokens));
    const facts: (readonly [string, string])[] = [
      ["Context", `${formatCount(usage.contextTokens)} of ${formatCount(usage.contextWindowTokens)} tokens`],
      ["Read", `${formatCount(usage.inputTokens)} tokens, ${cached}% from cache`],
      ["Written", `${formatCount(usage.outputTokens)} tokens`],
      ["Cost", spent === "" ? "unknown: no price for this model" : spent],
    ];
    if (usage.parts) facts.splice(1, 0, ...PARTS.map(([name, label]): readonly [string, string] => [label, `${formatCount(usage.parts?.[name] ?? 0)} tokens`]));
    if (percent >= 80) facts.push(["Nearly full", "/compact makes room"]);
    this.meter.setAttribute("aria-label", `${this.meter.textContent}. ` + facts.map(([name, value]) => `${name} ${value}`).join(". "));
    this.meter.title = facts.map(([name, value]) => `${name}: ${value}`).join("\n");
    this.facts.replaceChildren(...facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
  }

  private showFacts(on: boolean): void {
    this.facts.hidden = !on;
    this.meter.setAttribute("aria-expanded", String(on));
  }
}
