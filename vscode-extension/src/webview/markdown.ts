// The model's text as safe HTML: no raw HTML, no pictures, no script, links to the web or to files only, opened by the host.
import MarkdownIt from "markdown-it";

function isWeb(link: string): boolean {
  return /^https?:\/\//i.test(link);
}

/** A path, a file or a web address; any other scheme is shown as text. */
function isSafe(link: string): boolean {
  const trimmed = link.trim();
  return isWeb(trimmed) || /^file:\/\/\//i.test(trimmed) || !/^(?:[a-z][a-z0-9+.-]*:(?!\d)|\/\/|\\\\)/i.test(trimmed);
}

export const md = new MarkdownIt({ html: false, linkify: true, typographer: false });
md.validateLink = isSafe;
// Pictures would be fetched from wherever the model says: they become links.
md.disable("image");

md.renderer.rules["link_open"] = (tokens, index, options, _env, self) => {
  const token = tokens[index];
  const href = token?.attrGet("href") ?? "";
  // Only the host opens anything, and says what before it leaves the editor.
  token?.attrSet("href", "#");
  token?.attrSet(isWeb(href) ? "data-link" : "data-open", isWeb(href) ? href : decode(href));
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
  const later = isOpen || language === "" ? "" : ` data-language="${escapeHtml(language)}"`;
  const bar = `<div class="bar"><span>${escapeHtml(language)}</span><button type="button" class="icon" data-copy title="Copy" aria-label="Copy this code"><span class="codicon codicon-copy" aria-hidden="true"></span></button></div>`;
  return `<div class="code">${bar}<pre tabindex="0"><code class="hljs"${later}>${escapeHtml(text)}</code></pre></div>`;
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

export type Token = ReturnType<typeof md.parse>[number];

export function parse(text: string): Token[] {
  return md.parse(text, { isOpen: true });
}

export function draw(tokens: Token[], isOpen: boolean): DocumentFragment {
  const template = document.createElement("template");
  template.innerHTML = md.renderer.render(tokens, md.options, { isOpen });
  return template.content;
}
