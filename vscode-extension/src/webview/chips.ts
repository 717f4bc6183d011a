// Attachments of the prompt: lines, files, problems and images, each removable by click or key.
import { mentionIcon } from "../chat/mention_offers";
import { h, icon, iconButton } from "./dom";
import type { Along, Attachment, FromView } from "./messages";

export const IMAGE_TYPES: readonly string[] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const MAX_IMAGE_BYTES = 5_000_000; // the limit of model providers

/** Describes why an image cannot be attached; undefined if it can be attached. */
export function describeRefusal({ name, type, size }: { readonly name: string; readonly type: string; readonly size: number }): string | undefined {
  if (!IMAGE_TYPES.includes(type)) return `${name} was not attached: only PNG, JPEG, GIF and WebP pictures are supported.`;
  return size > MAX_IMAGE_BYTES ? `${name} was not attached: it is larger than 5 MB.` : undefined;
}

export class Chips {
  readonly element = h("ul", { class: "chips", "aria-label": "Attached", hidden: true });
  private list: Attachment[] = [];
  /** Incremented with each change, so that callers can detect changes without comparing attachments. */
  revision = 0;

  constructor(private readonly changed: () => void) {}

  get all(): readonly Attachment[] {
    return this.list;
  }

  set(attachments: readonly Attachment[]): void {
    this.list = [...attachments];
    this.draw();
  }

  add(attachment: Attachment): void {
    const key = JSON.stringify(attachment.part);
    if (this.list.some(({ part }) => JSON.stringify(part) === key)) return;
    this.list.push(attachment);
    this.draw();
    this.changed();
  }

  private draw(): void {
    this.revision += 1;
    this.element.replaceChildren(...this.list.map((each) => this.chip(each)));
    this.element.hidden = this.list.length === 0;
  }

  private chip(attachment: Attachment): HTMLElement {
    const { label, part } = attachment;
    const remove = () => {
      this.list = this.list.filter((each) => each !== attachment);
      this.draw();
      this.changed();
    };
    const picture = part.type === "image" && IMAGE_TYPES.includes(part.mediaType) ? h("img", { src: `data:${part.mediaType};base64,${part.data}`, alt: "" }) : icon(mentionIcon(part.type));
    return h("li", { title: label }, picture, h("span", { class: "label" }, label), iconButton("close", `Remove ${label}`, remove));
  }
}

/** The chip for the automatic attachment of the active file, which the user can turn off. */
export function alongElement({ label, isShared }: Along, send: (message: FromView) => void): HTMLElement {
  const words = isShared ? `The agent knows that you are looking at ${label}. Click to leave it out.` : `The agent does not know that you are looking at ${label}. Click to include it.`;
  return h("button", { type: "button", class: isShared ? "" : "off", title: words, "aria-label": words, "aria-pressed": String(isShared), onClick: () => { send({ type: "share", isShared: !isShared }); } }, icon(isShared ? "eye" : "eye-closed"), h("span", { class: "label" }, label));
}

/** Reads an image as an attachment. Rejects if it cannot be read. */
export async function readImage(file: File): Promise<Attachment> {
  const url = await new Promise<string>((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => { resolve(reader.result as string); };
    reader.onerror = () => { reject(new Error(`${file.name} cannot be read`)); };
    reader.readAsDataURL(file);
  });
  const part = { type: "image", mediaType: file.type, data: url.slice(url.indexOf(",") + 1) } as const;
  return { label: file.name === "" ? "picture" : file.name, part };
}

/** Returns the files that were dropped from the explorer or from editor tabs. */
export function droppedFiles(data: DataTransfer): Attachment[] {
  const list = data.getData("application/vnd.code.uri-list") || data.getData("text/uri-list");
  const uris = list.split(/\r?\n/).filter((line) => line.startsWith("file:///"));
  return uris.map((uri) => ({ label: decodeURIComponent(uri.split("/").at(-1) ?? uri), part: { type: "file", uri } }));
}
