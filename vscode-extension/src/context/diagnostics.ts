// Reports diagnostics of other language servers and linters to the server (agent/diagnostics).
import * as vscode from "vscode";
import type { Client } from "../connection/client";
import type { Diagnostic, Diagnostics } from "../connection/protocol";
import { type Moments, SentReports, settlesAtMs } from "./diagnostics_model";

const BURST_MS = 50; // reports within this time are sent in one message
const MAX_ITEMS = 200; // per file
const MAX_CHARS = 2_000; // per message
const MAX_FILES = 1_000; // the server's limit
const MAX_WAIT_MS = 10_000; // limit for tools that report without end; the server waits longer

const SEVERITY: Record<vscode.DiagnosticSeverity, Diagnostic["severity"]> = {
  [vscode.DiagnosticSeverity.Error]: 1,
  [vscode.DiagnosticSeverity.Warning]: 2,
  [vscode.DiagnosticSeverity.Information]: 3,
  [vscode.DiagnosticSeverity.Hint]: 4,
};

function codeOf({ code }: vscode.Diagnostic): string | undefined {
  const value = typeof code === "object" ? code.value : code;
  return value === undefined ? undefined : String(value);
}

export function itemOf(diagnostic: vscode.Diagnostic): Diagnostic {
  const { range, severity, message, source } = diagnostic;
  const code = codeOf(diagnostic);
  return {
    startLine: range.start.line, startCharacter: range.start.character, endLine: range.end.line, endCharacter: range.end.character,
    severity: SEVERITY[severity] ?? 1, message: message.slice(0, MAX_CHARS),
    ...(source !== undefined && { source }), ...(code !== undefined && { code }),
  };
}

function isOpen(uri: vscode.Uri): boolean {
  return vscode.workspace.textDocuments.some((each) => each.uri.toString() === uri.toString());
}

function reportOf(uri: vscode.Uri, isSettled: boolean): Diagnostics {
  const document = vscode.workspace.textDocuments.find((each) => each.uri.toString() === uri.toString());
  const worstFirst = [...vscode.languages.getDiagnostics(uri)].sort((a, b) => a.severity - b.severity);
  return {
    uri: uri.toString(),
    ...(document && { version: document.version }),
    settled: isSettled,
    items: worstFirst.slice(0, MAX_ITEMS).map(itemOf),
  };
}

interface Watched {
  readonly uri: vscode.Uri;
  moments: Moments;
  burst?: NodeJS.Timeout;
  settle?: NodeJS.Timeout;
}

export class DiagnosticsReporter implements vscode.Disposable {
  private readonly watched = new Map<string, Watched>();
  private readonly sentReports = new SentReports();
  private readonly waiters = new Map<string, (() => void)[]>();
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly client: Client) {
    this.subscriptions = [
      vscode.languages.onDidChangeDiagnostics(({ uris }) => { for (const uri of uris) this.onPublished(uri); }),
      vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => { if (contentChanges.length > 0) this.onChanged(document.uri); }),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => { this.settle(uri); }),
    ];
  }

  /** Sends all diagnostics to a server that has just started. */
  restart(): void {
    this.sentReports.clear();
    for (const [uri, items] of vscode.languages.getDiagnostics()) if (items.length > 0) this.send(uri, true);
  }

  /**
   * Returns the diagnostics of one file, or of all files. Opens a file that is not open, and waits until the language
   * tools have reported about it.
   */
  async collectReports(uri: vscode.Uri | undefined): Promise<readonly Diagnostics[]> {
    if (!uri) {
      const found = vscode.languages.getDiagnostics().filter(([each, items]) => each.scheme === "file" && items.length > 0);
      return found.slice(0, MAX_FILES).map(([each]) => reportOf(each, !this.watched.has(each.toString())));
    }
    if (!isOpen(uri)) {
      await vscode.workspace.openTextDocument(uri);
      this.onChanged(uri);
    }
    if (this.watched.has(uri.toString())) await this.waitUntilSettled(uri.toString());
    return [reportOf(uri, !this.watched.has(uri.toString()))];
  }

  private waitUntilSettled(key: string): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, MAX_WAIT_MS);
      this.waiters.set(key, [...(this.waiters.get(key) ?? []), () => { clearTimeout(timer); resolve(); }]);
    });
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
    for (const { burst, settle } of this.watched.values()) {
      clearTimeout(burst);
      clearTimeout(settle);
    }
  }

  private onPublished(uri: vscode.Uri): void {
    const file = this.track(uri);
    if (!file) return;
    file.moments = { ...file.moments, publishedMs: performance.now() };
    clearTimeout(file.burst);
    file.burst = setTimeout(() => { this.send(uri, false); }, BURST_MS);
    this.settle(uri);
  }

  private onChanged(uri: vscode.Uri): void {
    const file = this.track(uri);
    if (!file) return;
    file.moments = { ...file.moments, changedMs: performance.now() };
    this.settle(uri);
  }

  private settle(uri: vscode.Uri): void {
    const file = this.track(uri);
    if (!file) return;
    clearTimeout(file.settle);
    file.settle = setTimeout(() => {
      clearTimeout(file.burst);
      this.watched.delete(uri.toString());
      this.send(uri, true);
      const waiting = this.waiters.get(uri.toString()) ?? [];
      this.waiters.delete(uri.toString());
      for (const resolve of waiting) resolve();
    }, Math.max(0, settlesAtMs(file.moments) - performance.now()));
  }

  private track(uri: vscode.Uri): Watched | undefined {
    if (uri.scheme !== "file" || !this.client.takesDiagnostics) return undefined;
    const key = uri.toString();
    const known = this.watched.get(key) ?? { uri, moments: {} };
    this.watched.set(key, known);
    return known;
  }

  private send(uri: vscode.Uri, isSettled: boolean): void {
    if (uri.scheme !== "file" || !this.client.takesDiagnostics) return;
    const report = reportOf(uri, isSettled);
    if (this.sentReports.isNew(report.uri, report)) this.client.notify("agent/diagnostics", report);
  }
}
