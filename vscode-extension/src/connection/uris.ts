// Converts `file:` URIs to paths for display. Pure; vscode.Uri is used to open files.

/** Returns the path of a `file:` URI, and other URIs unchanged. */
export function pathOf(uri: string): string {
  const path = uri.replace(/^file:\/\//, "").replace(/^\/(?=[a-zA-Z](?::|%3[aA])\/)/, "");
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** The `file:` URI of an absolute path. */
export function uriOf(path: string): string {
  const slashed = path.replaceAll("\\", "/");
  return `file://${slashed.startsWith("/") ? "" : "/"}${slashed.split("/").map(encodeURIComponent).join("/")}`;
}

/** Returns the path of a file relative to the session's git worktree; undefined for files outside of it. */
export function nameInWorktree(path: string, worktree: string | undefined): string | undefined {
  const base = worktree === undefined ? "" : pathOf(worktree).replace(/\/+$/, "");
  return base !== "" && path.startsWith(`${base}/`) ? `${path.slice(base.length + 1)} (worktree)` : undefined;
}
