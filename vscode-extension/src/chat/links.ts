// Opens links of the chat: files in the editor, web addresses in the browser after a confirmation.
import { isAbsolute, join } from "node:path";
import * as vscode from "vscode";
import { targetOf } from "./target";

/** Finds a file of the workspace by its base name; undefined if there is none or more than one. */
async function byName(name: string): Promise<vscode.Uri | undefined> {
  if (!/^[^/\\*?{}[\]]+$/.test(name)) return undefined;
  const found = await vscode.workspace.findFiles(`**/${name}`, "**/{node_modules,.venv,.git}/**", 2);
  return found.length === 1 ? found[0] : undefined;
}

/** Opens a file link: a URI, or a path as the model wrote it, with or without lines. */
export async function openFile(target: string, folder: string | undefined): Promise<void> {
  const { name, lines } = targetOf(target);
  const base = folder?.startsWith("file:") === true ? vscode.Uri.parse(folder).fsPath : "";
  const uri = name.startsWith("file:") ? vscode.Uri.parse(name) : vscode.Uri.file(isAbsolute(name) ? name : join(base, name));
  const selection = lines && new vscode.Range(lines[0], 0, lines[1], lines[0] === lines[1] ? 0 : Number.MAX_SAFE_INTEGER);
  const show = async (file: vscode.Uri) => {
    // Opening a file URI that names a host would send a request over the network.
    if (file.authority !== "") throw new Error("not on this machine");
    await vscode.window.showTextDocument(file, { preview: true, ...(selection && { selection }) });
  };
  try {
    await show(uri).catch(async () => {
      const other = await byName(name);
      if (!other) throw new Error("not found");
      await show(other);
    });
  } catch {
    void vscode.window.setStatusBarMessage(`agent-ls: cannot open ${name}`, 4000);
  }
}

/** Asks the user before opening a web address and shows all of it: the model wrote it, so it may contain private data. */
export async function openLink(url: string): Promise<void> {
  if (!/^https?:\/\//i.test(url)) return;
  const message = "Open this address outside of the editor?";
  const chosen = await vscode.window.showInformationMessage(message, { modal: true, detail: url }, "Open", "Copy");
  if (chosen === "Open") await vscode.env.openExternal(vscode.Uri.parse(url, true));
  if (chosen === "Copy") await vscode.env.clipboard.writeText(url);
}
