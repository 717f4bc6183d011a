// Which program serves: the one of the user's settings, else the one of this package, installed on its first use.
import { isAbsolute, join } from "node:path";
import * as vscode from "vscode";
import { type Log, inBackground } from "../logger";
import type { Problem } from "../protocol";
import { chosen } from "../settings";
import { type Bundle, findBundle } from "./bundle";
import { clearAway, install, installed, interpreter } from "./install";
import { executable, onPath, run } from "./programs";
import { findPython } from "./python";

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
}

const SERVE = ["serve", "--stdio"] as const;
const FOLDER = "${workspaceFolder}";

export class ServerLocator {
  /** Set up after all, once the user tried again. */
  onReady: () => void = () => undefined;
  private installing: Promise<string | Problem> | undefined;

  constructor(
    private readonly extension: vscode.ExtensionContext,
    private readonly log: Log,
  ) {}

  async find(): Promise<Command | Problem> {
    if (!vscode.workspace.isTrusted) {
      return {
        message: "This folder is not trusted, so the agent does not start in it.",
        hint: "It reads, edits and runs what is in the folder. Choose Workspaces: Manage Workspace Trust when you trust it.",
      };
    }
    return fromSettings() ?? this.fromCheckout() ?? this.bundled();
  }

  /** While the extension itself is being developed. */
  private fromCheckout(): Command | undefined {
    if (this.extension.extensionMode === vscode.ExtensionMode.Production) return undefined;
    const program = executable(join(interpreter(join(this.extension.extensionPath, "..", ".venv")), "..", process.platform === "win32" ? "agent-ls.exe" : "agent-ls"));
    return program === undefined ? undefined : { program, args: SERVE };
  }

  private async bundled(): Promise<Command | Problem> {
    const bundle = findBundle(this.extension.extensionPath);
    if (!bundle) {
      return { message: "This build of the extension brings no server along.", hint: "Install agent-ls, and name it in the setting agentLs.command." };
    }
    this.installing ??= this.environment(bundle).finally(() => { this.installing = undefined; });
    const environment = await this.installing;
    if (typeof environment !== "string") return environment;
    // -I: a module of the folder that is open must not take the place of one of ours.
    return { program: interpreter(environment), args: ["-I", "-m", "agent_ls", ...SERVE] };
  }

  private async environment(bundle: Bundle): Promise<string | Problem> {
    const storage = join(this.extension.globalStorageUri.fsPath, "server");
    const environment = (await installed(bundle, storage)) ?? (await this.setUp(bundle, storage));
    if (typeof environment === "string") inBackground(this.log, clearAway(storage, bundle.stamp, Date.now()));
    else inBackground(this.log, this.offer(environment));
    return environment;
  }

  private async setUp(bundle: Bundle, storage: string): Promise<string | Problem> {
    const wanted = chosen("python");
    const python = await findPython(typeof wanted === "string" ? wanted : "");
    if (!("program" in python)) return python;
    this.log.info(`setting up the server ${bundle.stamp} with ${python.program} (${python.version})`);
    const options = { location: vscode.ProgressLocation.Notification, title: "agent-ls: setting up its server", cancellable: true };
    return vscode.window.withProgress(options, async (progress, token) => {
      const cancelled = new AbortController();
      token.onCancellationRequested(() => { cancelled.abort(); });
      return install(bundle, python, storage, {
        run,
        say: (message) => { progress.report({ message }); },
        onLine: (line) => { this.log.info(line); },
        signal: cancelled.signal,
      });
    });
  }

  private async offer({ message, hint }: Problem): Promise<void> {
    this.log.error(message);
    const again = "Try Again", choose = "Choose Python…", show = "Show Log";
    const answer = await vscode.window.showErrorMessage(hint === undefined ? message : `${message} ${hint}`, again, choose, show);
    if (answer === show) this.log.show(true);
    if (answer === choose) await vscode.commands.executeCommand("workbench.action.openSettings", "agentLs.python");
    if (answer === again && "program" in (await this.find())) this.onReady();
  }
}

/** Machine scope: a workspace cannot set it. An interpreter of the workspace runs only when the user names it there. */
function fromSettings(): Command | Problem | undefined {
  const value = chosen("command");
  const words = Array.isArray(value) ? value.filter((word) => typeof word === "string") : [];
  const [named, ...args] = words;
  if (named === undefined || named === "") return undefined;
  const folder = vscode.workspace.workspaceFolders?.find(({ uri }) => uri.scheme === "file")?.uri.fsPath;
  const program = folder === undefined ? named : named.replace(FOLDER, () => folder);
  const found = isAbsolute(program) ? executable(program) : onPath(program);
  if (found === undefined) {
    return { message: `The program ${named} of the setting agentLs.command was not found.`, hint: "Set it to a program and its arguments, or empty it for the server that comes with the extension." };
  }
  return { program: found, args: args.length > 0 ? args : SERVE };
}
