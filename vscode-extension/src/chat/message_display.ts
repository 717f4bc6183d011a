// Converts a user message for display: the user's text, attachments, and the text that only the model gets. Pure.
import type { InputPart } from "../connection/protocol";
import { pathOf, uriOf } from "../connection/uris";
import type { Attachment } from "../webview/messages";
import { labelOf } from "./labels";
import { mentionIcon } from "./mention_offers";

export interface Chip {
  readonly icon: string;
  readonly label: string;
  /** Link target that a click opens, "" for none. */
  readonly target: string;
}

export interface DisplayedMessage {
  readonly text: string;
  readonly chips: readonly Chip[];
  /** Images as data URLs. */
  readonly pictures: readonly string[];
  /** The text that the model gets, displayed collapsed; "" if it is the same as the displayed text. */
  readonly more: string;
}

export interface PathContext {
  /** Formats a path for this workspace. */
  readonly relative: (path: string) => string;
}

const COLLAPSED_LINES = 12; // a longer logged text is collapsed, because it may contain more than the user's own words

function chipOf(part: InputPart, { relative }: PathContext): Chip | undefined {
  const label = labelOf(part);
  if (label === undefined || part.type === "text" || part.type === "command" || part.type === "image") return undefined;
  const icon = mentionIcon(part.type);
  if (part.type === "diagnostics") return { icon, label, target: part.uri ?? "" };
  if (part.type === "page") return { icon, label, target: part.url };
  if (part.type === "symbol") return { icon, label, target: `${part.uri}#L${(part.startLine ?? 0) + 1}` };
  if (part.type !== "file" && part.type !== "folder" && part.type !== "selection") return { icon, label, target: "" };
  const path = relative(pathOf(part.uri));
  if (part.type === "folder") return { icon, label: `${path}/`, target: "" };
  if (part.type === "file") return { icon, label: path, target: part.uri };
  const first = part.startLine + 1, last = Math.max(part.endLine, first);
  return { icon, label: first === last ? `${path}:${first}` : `${path}:${first}-${last}`, target: `${part.uri}#L${first}-L${last}` };
}

/** Converts a message that this window sent, so that its parts are known. */
export function displaySentMessage(parts: readonly InputPart[], modelText: string, context: PathContext): DisplayedMessage {
  const words = parts.flatMap((part) => {
    if (part.type === "text") return [part.text];
    return part.type === "command" ? [`/${part.name}${part.arguments === undefined ? "" : ` ${part.arguments}`}`] : [];
  });
  const text = words.join("\n\n");
  const pictures = parts.flatMap((part) => (part.type === "image" ? [`data:${part.mediaType};base64,${part.data}`] : []));
  const isAll = parts.every(({ type }) => type === "text" || type === "image" || type === "file" || type === "folder");
  return { text, chips: parts.flatMap((part) => chipOf(part, context) ?? []), pictures, more: isAll ? "" : modelText };
}

const FILE = /^(File|Folder): (\S.*)$/;
const SELECTED = /^Selected in (.+), lines (\d+) to (\d+):\n(`{3,})\n([\s\S]*?)\n\4$/;

/** Splits a logged message into its leading attachments (files and lines) and the remaining text. */
function splitAttachments(modelText: string): { readonly parts: readonly InputPart[]; readonly rest: string } {
  const parts: InputPart[] = [];
  let rest = modelText;
  for (;;) {
    const block = firstBlock(rest);
    const file = FILE.exec(block), selected = SELECTED.exec(block);
    if (file) parts.push({ type: file[1] === "File" ? "file" : "folder", uri: uriOf(file[2] ?? "") });
    else if (selected) parts.push({ type: "selection", uri: uriOf(selected[1] ?? ""), startLine: Number(selected[2]) - 1, endLine: Number(selected[3]), text: selected[5] ?? "" });
    else return { parts, rest };
    rest = rest.slice(block.length).replace(/^\n+/, "");
  }
}

/** Converts a message from the session's log, which contains only the text for the model. */
export function displayLoggedMessage(modelText: string, context: PathContext): DisplayedMessage {
  const { parts, rest } = splitAttachments(modelText);
  const chips = parts.flatMap((part) => chipOf(part, context) ?? []);
  const lines = rest.split("\n");
  if (lines.length <= COLLAPSED_LINES) return { text: rest, chips, pictures: [], more: "" };
  return { text: `${lines.slice(0, 3).join("\n")}\n…`, chips, pictures: [], more: rest };
}

/** Converts a logged message back to text and attachments for the prompt. */
export function restorePrompt(modelText: string, context: PathContext): { readonly text: string; readonly attachments: readonly Attachment[] } {
  const { parts, rest } = splitAttachments(modelText);
  return { text: rest, attachments: parts.map((part) => ({ label: chipOf(part, context)?.label ?? "", part })) };
}

/** Returns the first paragraph, including the whole code block that its first line introduces. */
function firstBlock(text: string): string {
  const fence = /^[^\n]*:\n(`{3,})\n/.exec(text);
  if (!fence) return text.split("\n\n")[0] ?? "";
  const end = text.indexOf(`\n${fence[1] ?? ""}`, fence[0].length - 1);
  const stop = text.indexOf("\n", end + 1);
  return end === -1 || stop === -1 ? text : text.slice(0, stop);
}
