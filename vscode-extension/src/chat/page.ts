// The HTML of the chat webview. Its content security policy allows only resources of this extension.
import * as vscode from "vscode";

export function renderPage(webview: vscode.Webview, folder: vscode.Uri, nonce: string): string {
  const uri = (name: string) => webview.asWebviewUri(vscode.Uri.joinPath(folder, name)).toString();
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src ${webview.cspSource}`,
    `font-src ${webview.cspSource}`,
    "img-src data:", // images pasted by the user
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return `<!DOCTYPE html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta http-equiv="Content-Security-Policy" content="${policy}">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>agent-ls</title>
  <link rel="stylesheet" href="${uri("style.css")}">
</head>
<body>
  <main id="app"></main>
  <script nonce="${nonce}" src="${uri("main.js")}"></script>
</body>
</html>`;
}
