// API keys: stored in VS Code's secret storage and sent to the server over the connection. They are never in a
// file, an argument, an environment variable or the log.
import { randomUUID } from "node:crypto";
import * as vscode from "vscode";
import type { Client, Send } from "../connection/client";
import { type Log, inBackground } from "../logger";
import { problemOf } from "../connection/protocol";

interface Provider {
  readonly id: string;
  readonly name: string;
  readonly hasKey?: boolean;
  readonly keyVariable?: string;
}

/** Used until a server lists its providers (agent/models). */
const KNOWN: readonly Provider[] = [
  { id: "anthropic", name: "Anthropic", keyVariable: "ANTHROPIC_API_KEY" },
  { id: "openai", name: "OpenAI", keyVariable: "OPENAI_API_KEY" },
  { id: "gemini", name: "Google Gemini", keyVariable: "GEMINI_API_KEY" },
];
const NEEDS_NONE = "walkthrough";
const PREFIX = "agentLs.key.";
/** Names of the providers with a stored key, because the secret storage cannot list its keys. */
const LIST = "agentLs.keys";

export class Keys implements vscode.Disposable {
  private readonly subscription: vscode.Disposable;
  private hasExplained = false;

  constructor(
    private readonly extension: vscode.ExtensionContext,
    private readonly client: Client,
    private readonly log: Log,
  ) {
    // VS Code sends this event to all windows, so it also reports keys that were stored in another window.
    this.subscription = extension.secrets.onDidChange(({ key }) => {
      if (key.startsWith(PREFIX)) inBackground(log, this.onSecretChanged(key.slice(PREFIX.length)));
    });
  }

  /** Sends the keys to a server that has just started, before any other request. */
  async sendAll(send: Send): Promise<void> {
    for (const provider of this.storedProviders) {
      const secret = await this.extension.secrets.get(PREFIX + provider);
      if (secret !== undefined) await this.give(send, provider, secret);
    }
  }

  /** Asks for a key. Returns true if one was stored. */
  async set(): Promise<boolean> {
    const provider = await choose(await this.providers(), "Choose the provider of the API key", (each) => (this.storedProviders.includes(each.id) ? "replaces the key that is stored" : ""));
    if (!provider) return false;
    const secret = await vscode.window.showInputBox({
      title: `agent-ls: API key of ${provider.name}`,
      prompt: "The key is stored in the secret storage of this editor, and only sent to the server.",
      password: true,
      ignoreFocusOut: true,
      validateInput: (text) => (/\s/.test(text.trim()) ? "An API key cannot contain white space." : undefined),
    });
    if (secret === undefined || secret.trim() === "") return false;
    await this.remember([...new Set([...this.storedProviders, provider.id])]);
    await this.extension.secrets.store(PREFIX + provider.id, secret.trim());
    void vscode.window.showInformationMessage(`The key of ${provider.name} is stored. The key is used from the next message on.`);
    return true;
  }

  async remove(): Promise<void> {
    const stored = (await this.providers()).filter(({ id }) => this.storedProviders.includes(id));
    if (stored.length === 0) {
      void vscode.window.showInformationMessage("No API key is stored in this editor. To remove a key of the environment, unset its variable.");
      return;
    }
    const provider = await choose(stored, "Choose the provider whose API key to remove");
    if (!provider) return;
    await this.extension.secrets.delete(PREFIX + provider.id);
    await this.remember(this.storedProviders.filter((id) => id !== provider.id));
    void vscode.window.showInformationMessage(`The key of ${provider.name} is removed.`);
  }

  /** If the session's provider needs a key and has none, offers what to do. Does so only once per window. */
  async explain(providerId: string): Promise<void> {
    if (this.hasExplained) return;
    this.hasExplained = true;
    const provider = (await this.askProviders())?.find(({ id }) => id === providerId);
    if (provider?.hasKey !== false || !provider.keyVariable) {
      this.hasExplained = false;
      return;
    }
    const text = `agent-ls has no API key of ${provider.name} yet. Enter one, or try everything with a scripted model first.`;
    const set = "Set API Key…", demo = "Try the Walkthrough Session";
    const answer = await vscode.window.showInformationMessage(text, set, demo);
    if (answer === set) await this.set();
    if (answer === demo) await vscode.commands.executeCommand("agentLs.demo");
  }

  dispose(): void {
    this.subscription.dispose();
  }

  /** Whether any provider has a stored key. */
  get hasAny(): boolean {
    return this.storedProviders.length > 0;
  }

  private get storedProviders(): readonly string[] {
    return this.extension.globalState.get<readonly string[]>(LIST, []);
  }

  private async remember(ids: readonly string[]): Promise<void> {
    await this.extension.globalState.update(LIST, ids);
  }

  private async onSecretChanged(provider: string): Promise<void> {
    const secret = (await this.extension.secrets.get(PREFIX + provider)) ?? null;
    await this.client.whileRunning((send) => this.give(send, provider, secret));
  }

  private async give(send: Send, provider: string, secret: string | null): Promise<void> {
    try {
      await send("agent/setCredential", { provider, secret, clientKey: randomUUID() });
    } catch (error) {
      this.log.error(`The key of ${provider} was not accepted: ${problemOf(error).message}`);
    }
  }

  /** Returns the server's providers that use a key; if it is not running, the providers known here. */
  private async providers(): Promise<readonly Provider[]> {
    return (await this.askProviders())?.filter(({ id }) => id !== NEEDS_NONE) ?? KNOWN;
  }

  private async askProviders(): Promise<readonly Provider[] | undefined> {
    try {
      return await this.client.whileRunning(async (send) => (await send("agent/models", {})).providers);
    } catch (error) {
      this.log.warn(`agent/models: ${problemOf(error).message}`);
      return undefined;
    }
  }
}

async function choose(providers: readonly Provider[], title: string, detail = (_: Provider): string => ""): Promise<Provider | undefined> {
  const items = providers.map((provider) => ({ label: provider.name, description: detail(provider), provider }));
  return (await vscode.window.showQuickPick(items, { title, ignoreFocusOut: true }))?.provider;
}
