// Finds the server program: the one in the user's settings, an installed one that the user chooses, or the bundled one,
// which is installed on first use.
import { isAbsolute, join } from "node:path";
import * as vscode from "vscode";
import { type Log, inBackground } from "../logger";
import type { Problem } from "../connection/protocol";
import { readUserValue } from "../settings/settings";
import { type Bundle, findBundle } from "./bundle";
import { deleteUnusedEnvironments, install, findEnvironment, interpreterPath } from "./install";
import { findInstalled, isCompatible } from "./installed";
import { findExecutable, findOnPath, run } from "./programs";
import { findPython } from "./python";

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
}

const SERVE = ["serve", "--stdio"] as const;
const FOLDER = "${workspaceFolder}";
/** Storage key of the user's choice: the path of an installed server, or "" for the bundled one. */
const OWN_SERVER = "agentLs.ownServer";
const USE = "Use It";
const SET_UP = "Set Up Another";

export class ServerLocator {
  /** Called with a description of each step of the installation. */
  onProgress: (words: string | undefined) => void = () => undefined;
  private installing: Promise<string | Problem> | undefined;
  private choosing: Promise<string | undefined> | undefined;

  constructor(
    private readonly extension: vscode.ExtensionContext,
    private readonly log: Log,
  ) {}

  async find(): Promise<Command | Problem> {
    if (!vscode.workspace.isTrusted) {
      return {
        message: "This folder is not trusted, so the agent does not start in it.",
        hint: "The agent reads, edits and runs files of the folder.",
        kind: "untrusted",
      };
    }
    return fromSettings() ?? this.fromCheckout() ?? this.bundledCommand();
  }

  /** Finds the server of a checkout, during development of the extension. */
  private fromCheckout(): Command | undefined {
    if (this.extension.extensionMode === vscode.ExtensionMode.Production) return undefined;
    const program = findExecutable(join(interpreterPath(join(this.extension.extensionPath, "..", ".venv")), "..", process.platform === "win32" ? "agent-ls.exe" : "agent-ls"));
    return program === undefined ? undefined : { program, args: SERVE };
  }

  private async bundledCommand(): Promise<Command | Problem> {
    const bundle = findBundle(this.extension.extensionPath);
    if (!bundle) {
      return { message: "This build of the extension contains no server.", hint: "Install agent-ls, and set agentLs.command to the program." };
    }
    const own = await this.ownServer(bundle);
    if (own !== undefined) return { program: own, args: SERVE };
    this.installing ??= this.provideEnvironment(bundle).finally(() => { this.installing = undefined; });
    const environment = await this.installing;
    if (typeof environment !== "string") return environment;
    // -I (isolated): a module in the workspace folder must not shadow a module of the server.
    return { program: interpreterPath(environment), args: ["-I", "-m", "agent_ls", ...SERVE] };
  }

  /** Finds an installed server and asks the user once whether to use it, before the bundled server is set up. */
  private ownServer(bundle: Bundle): Promise<string | undefined> {
    this.choosing ??= this.chooseOwn(bundle).finally(() => { this.choosing = undefined; });
    return this.choosing;
  }

  private async chooseOwn(bundle: Bundle): Promise<string | undefined> {
    const remembered = this.extension.globalState.get<string>(OWN_SERVER);
    if (remembered === "") return undefined;
    const storage = join(this.extension.globalStorageUri.fsPath, "server");
    if (remembered === undefined && (await findEnvironment(bundle, storage)) !== undefined) return undefined;
    const found = await findInstalled();
    if (found === undefined) return undefined;
    if (!isCompatible(found.version, bundle.stamp)) {
      this.log.info(`${found.program} is version ${found.version}, but the extension needs another version`);
      return undefined;
    }
    if (remembered === found.program) return found.program;
    const detail = `${found.program}, version ${found.version}. Otherwise the extension sets up a server of its own.`;
    const answer = await vscode.window.showInformationMessage("Use the agent-ls that is installed on this machine?", { modal: true, detail }, USE, SET_UP);
    if (answer === USE || answer === SET_UP) await this.extension.globalState.update(OWN_SERVER, answer === USE ? found.program : "");
    return answer === USE ? found.program : undefined;
  }

  private async provideEnvironment(bundle: Bundle): Promise<string | Problem> {
    const storage = join(this.extension.globalStorageUri.fsPath, "server");
    const environment = (await findEnvironment(bundle, storage)) ?? (await this.setUp(bundle, storage));
    if (typeof environment === "string") inBackground(this.log, deleteUnusedEnvironments(storage, bundle.stamp, Date.now()));
    else this.log.error(environment.message);
    return typeof environment === "string" ? environment : { kind: "set_up", ...environment };
  }

  private async setUp(bundle: Bundle, storage: string): Promise<string | Problem> {
    const wanted = readUserValue("python");
    const python = await findPython(typeof wanted === "string" ? wanted : "");
    if (!("program" in python)) return python;
    this.log.info(`setting up the server ${bundle.stamp} with ${python.program} (${python.version})`);
    const options = { location: vscode.ProgressLocation.Notification, title: "agent-ls: setting up its server", cancellable: true };
    return vscode.window.withProgress(options, async (progress, token) => {
      const cancelled = new AbortController();
      token.onCancellationRequested(() => { cancelled.abort(); });
      const say = (message: string) => {
        progress.report({ message });
        this.onProgress(`Setting up the server: ${message}`);
      };
      return install(bundle, python, storage, {
        run,
        say,
        onLine: (line) => { this.log.info(line); },
        signal: cancelled.signal,
      });
    });
  }
}

/**
 * Returns the program in the settings. The setting has machine scope, so a workspace cannot set it: a program in the
 * workspace runs only if the user has configured it.
 */
function fromSettings(): Command | Problem | undefined {
  const value = readUserValue("command");
  const words = Array.isArray(value) ? value.filter((word) => typeof word === "string") : [];
  const [named, ...args] = words;
  if (named === undefined || named === "") return undefined;
  const folder = vscode.workspace.workspaceFolders?.find(({ uri }) => uri.scheme === "file")?.uri.fsPath;
  const program = folder === undefined ? named : named.replace(FOLDER, () => folder);
  const found = isAbsolute(program) ? findExecutable(program) : findOnPath(program);
  if (found === undefined) {
    return { message: `The program ${named} of the setting agentLs.command was not found.`, hint: "Set agentLs.command to a program and its arguments, or clear the setting to use the server of the extension." };
  }
  return { program: found, args: args.length > 0 ? args : SERVE };
}
