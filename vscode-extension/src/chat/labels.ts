// Labels of attachments, computed from their parts, because drafts stored by the server have no labels. Pure.
import type { InputPart } from "../connection/protocol";
import type { Attachment } from "../webview/messages";

function nameOf(uri: string): string {
  const name = uri.replace(/\/+$/, "").split("/").at(-1) ?? uri;
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Returns the label of an attachment; undefined for a text part, which is not an attachment. */
export function labelOf(part: InputPart): string | undefined {
  switch (part.type) {
    case "text":
      return undefined;
    case "file":
      return nameOf(part.uri);
    case "folder":
      return `${nameOf(part.uri)}/`;
    case "selection":
      return `${nameOf(part.uri)}:${part.startLine + 1}-${Math.max(part.endLine, part.startLine + 1)}`;
    case "diagnostics":
      return part.uri === undefined ? "problems" : `problems of ${nameOf(part.uri)}`;
    case "image":
      return "picture";
    case "resource":
      return `${part.server}:${part.uri}`;
    case "command":
      return `/${part.name}`;
    case "symbol":
      return part.name;
    case "diff":
      return part.staged ? "staged" : "diff";
    case "commit":
      return `commit ${part.revision}`;
    case "terminal":
      return `terminal ${part.name}`;
    case "page":
      return part.url;
    default: // a kind of part that this version does not know
      return (part as InputPart).type;
  }
}

export function attachmentsOf(parts: readonly InputPart[]): Attachment[] {
  return parts.flatMap((part) => {
    const label = labelOf(part);
    return label === undefined ? [] : [{ label, part }];
  });
}
