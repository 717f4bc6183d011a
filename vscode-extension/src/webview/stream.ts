// Renders streamed Markdown. Only the last block is parsed and drawn again, and text is appended to an open code block
// without parsing.
import { highlightLater } from "./highlight";
import { type Token, drawTokens, parseMarkdown } from "./markdown";

const LONG_TAIL_CHARS = 8_000; // a longer list is split before its last item, to limit the work per update

/** Number of parses, for tests. */
export const work = { parses: 0 };

interface OpenFence {
  readonly text: Text;
  /** The characters that begin and end the code block, such as three backticks. */
  readonly marker: string;
}

/** Returns the offset at which line `line` begins, in characters. */
function charOfLine(text: string, line: number): number {
  let at = 0;
  for (let i = 0; i < line; i++) at = text.indexOf("\n", at) + 1;
  return at;
}

function isBlockStart(token: Token): boolean {
  return token.level === 0 && token.nesting >= 0 && token.map !== null;
}

/** Returns the line on which the last item of a list begins, where the list can be split; 0 if it has one item. */
function lastItemLine(tokens: readonly Token[]): number {
  const items = tokens.filter((token) => token.level === 1 && token.type === "list_item_open");
  return items.length > 1 ? (items.at(-1)?.map?.[0] ?? 0) : 0;
}

export class StreamedMarkdown {
  readonly element: HTMLElement;
  private readonly tail: HTMLElement;
  private tailText = "";
  private fence: OpenFence | undefined;

  constructor(className: string) {
    this.tail = document.createElement("div");
    this.element = document.createElement("div");
    this.element.className = className;
    this.element.append(this.tail);
  }

  append(text: string, isOpen: boolean): void {
    const lineStart = this.tailText.lastIndexOf("\n") + 1;
    this.tailText += text;
    if (isOpen && this.fence && !this.endsFence(this.fence, lineStart)) {
      this.fence.text.appendData(text);
      return;
    }
    this.redraw(isOpen);
  }

  private endsFence({ marker }: OpenFence, from: number): boolean {
    const escaped = marker.startsWith("~") ? "~" : "`";
    return new RegExp(`^ {0,3}${escaped}{${marker.length},}[ \\t]*(?:\\n|$)`, "m").test(this.tailText.slice(from));
  }

  private redraw(isOpen: boolean): void {
    work.parses += 1;
    this.fence = undefined;
    let tokens = parseMarkdown(this.tailText);
    const last = isOpen ? tokens.findLastIndex(isBlockStart) : 0;
    if (last > 0) {
      this.settle(tokens.slice(0, last), tokens[last]?.map?.[0] ?? 0);
      tokens = tokens.slice(last);
    } else if (isOpen && this.tailText.length > LONG_TAIL_CHARS) {
      const line = lastItemLine(tokens);
      if (line > 0) {
        this.settle(parseMarkdown(this.tailText.slice(0, charOfLine(this.tailText, line))), line);
        tokens = parseMarkdown(this.tailText);
      }
    }
    this.tail.replaceChildren(drawTokens(tokens, isOpen));
    highlightLater(this.tail);
    if (isOpen) this.watchFence(tokens);
  }

  /** Draws blocks for the last time, because they cannot change any more, and removes them from the tail. */
  private settle(tokens: Token[], lines: number): void {
    const done = document.createElement("div");
    done.append(drawTokens(tokens, false));
    this.tail.before(done);
    highlightLater(done);
    this.tailText = this.tailText.slice(charOfLine(this.tailText, lines));
  }

  private watchFence(tokens: readonly Token[]): void {
    const [token] = tokens;
    if (tokens.length !== 1 || token?.type !== "fence" || !this.tailText.includes("\n")) return;
    // Text in an indented fence cannot simply be appended, because Markdown removes the indentation of each line.
    if (!this.tailText.startsWith(token.markup)) return;
    const text = this.tail.querySelector("code")?.firstChild;
    const code = this.tail.querySelector("code");
    const node = text instanceof Text ? text : document.createTextNode("");
    if (!text) code?.append(node);
    if (this.endsFence({ text: node, marker: token.markup }, this.tailText.indexOf("\n") + 1)) return;
    this.fence = { text: node, marker: token.markup };
  }
}
