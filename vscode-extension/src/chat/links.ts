// What a click on a link in the chat opens: files in the editor, web addresses outside of it when the user confirms.
import { isAbsolute, join } from "node:path";
import * as vscode from "vscode";

/** A file that the user clicked on: a uri, or a path as the model wrote it, with a line or without. */
export async function openFile(target: string, folder: string | undefined): Promise<void> {
  const [, name = target, line] = /^(.*?)(?:(?::|#L)(\d+))?(?:[:-].*)?$/s.exec(target.replace(/^file:\/\//, "")) ?? [];
  const base = folder?.startsWith("file:") === true ? vscode.Uri.parse(folder).fsPath : "";
  const uri = target.startsWith("file:") ? vscode.Uri.parse(target) : vscode.Uri.file(isAbsolute(name) ? name : join(base, name));
  const at = new vscode.Position(line === undefined ? 0 : Math.max(0, Number(line) - 1), 0);
  try {
    // A file of another host would be asked for over the network.
    if (uri.authority !== "") throw new Error("not on this machine");
    await vscode.window.showTextDocument(uri, { preview: true, ...(line !== undefined && { selection: new vscode.Range(at, at) }) });
  } catch {
    void vscode.window.setStatusBarMessage(`agent-ls: cannot open ${name}`, 4000);
  }
}

/** The address is shown whole before it is opened: the model wrote it, and it may carry more than it seems. */
export async function openLink(url: string): Promise<void> {
  if (!/^https?:\/\//i.test(url)) return;
  const message = "Open this address outside of the editor?";
  const chosen = await vscode.window.showInformationMessage(message, { modal: true, detail: url }, "Open", "Copy");
  if (chosen === "Open") await vscode.env.openExternal(vscode.Uri.parse(url, true));
  if (chosen === "Copy") await vscode.env.clipboard.writeText(url);
}
