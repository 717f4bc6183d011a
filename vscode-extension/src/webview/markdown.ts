// The model's text as safe HTML: no raw HTML, no pictures, no script, links to the web or to files only.
import hljs from "highlight.js/lib/core";
import MarkdownIt from "markdown-it";
import { LANGUAGES } from "./languages";

for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);

const HIGHLIGHT_CHARS = 20_000; // a longer block is shown plain: colouring it would hold up the panel

/** A path or web address; any other scheme is shown as text. */
function isSafe(link: string): boolean {
  return /^(https?:|mailto:)/i.test(link) || !/^[a-z][a-z0-9+.-]*:(?!\d)/i.test(link.trim());
}

function isWeb(link: string): boolean {
  return /^(https?:|mailto:)/i.test(link);
}

const md = new MarkdownIt({ html: false, linkify: true, typographer: false });
md.validateLink = isSafe;
// Pictures would be fetched from wherever the model says: they become links.
md.disable("image");

md.renderer.rules["link_open"] = (tokens, index, options, _env, self) => {
  const token = tokens[index];
  const href = token?.attrGet("href") ?? "";
  if (token && !isWeb(href)) {
    token.attrSet("href", "#");
    token.attrSet("data-open", decode(href));
  }
  token?.attrSet("title", href);
  return self.renderToken(tokens, index, options);
};

function decode(link: string): string {
  try {
    return decodeURI(link);
  } catch {
    return link;
  }
}

function codeBlock(text: string, language: string, isOpen: boolean): string {
  const { escapeHtml } = md.utils;
  const known = !isOpen && text.length <= HIGHLIGHT_CHARS && hljs.getLanguage(language);
  const code = known ? hljs.highlight(text, { language, ignoreIllegals: true }).value : escapeHtml(text);
  const bar = `<div class="bar"><span>${escapeHtml(language)}</span><button type="button" class="icon" data-copy title="Copy" aria-label="Copy this code"><span class="codicon codicon-copy" aria-hidden="true"></span></button></div>`;
  return `<div class="code">${bar}<pre tabindex="0"><code class="hljs">${code}</code></pre></div>`;
}

interface Env {
  /** The text still grows: its last block may change. */
  readonly isOpen: boolean;
}

md.renderer.rules.fence = (tokens, index, _options, env: Env) => {
  const token = tokens[index];
  const isLast = index === tokens.length - 1;
  return codeBlock(token?.content ?? "", /^\S*/.exec(token?.info.trim() ?? "")?.[0] ?? "", env.isOpen && isLast);
};
md.renderer.rules.code_block = (tokens, index) => codeBlock(tokens[index]?.content ?? "", "", false);

/** Where the last top-level block begins, in characters: what is before it will not change any more. */
function settledChars(text: string): number {
  const blocks = md.parse(text, { isOpen: true }).filter((token) => token.level === 0 && token.map && token.nesting >= 0);
  const line = blocks.length > 1 ? (blocks.at(-1)?.map?.[0] ?? 0) : 0;
  let at = 0;
  for (let i = 0; i < line; i++) at = text.indexOf("\n", at) + 1;
  return at;
}

function render(text: string, env: Env): DocumentFragment {
  const template = document.createElement("template");
  template.innerHTML = md.render(text, env);
  return template.content;
}

/** Text that grows: only its last block is drawn anew. */
export class StreamedMarkdown {
  readonly element: HTMLElement;
  private tail: HTMLElement;
  private tailText = "";

  constructor(className: string) {
    this.tail = document.createElement("div");
    this.element = document.createElement("div");
    this.element.className = className;
    this.element.append(this.tail);
  }

  append(text: string, isOpen: boolean): void {
    this.tailText += text;
    const settled = isOpen ? settledChars(this.tailText) : 0;
    if (settled > 0) {
      const done = document.createElement("div");
      done.append(render(this.tailText.slice(0, settled), { isOpen: false }));
      this.tail.before(done);
      this.tailText = this.tailText.slice(settled);
    }
    this.tail.replaceChildren(render(this.tailText, { isOpen }));
  }
}
