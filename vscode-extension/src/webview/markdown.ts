// Renders the model's text as safe HTML: no raw HTML, images or scripts. Links lead only to the web or to files, and the
// extension opens them.
import MarkdownIt from "markdown-it";
import { addFileLinks } from "./markdown_files";
import { addTaskLists } from "./markdown_tasks";

function isWeb(link: string): boolean {
  return /^https?:\/\//i.test(link);
}

/** Whether a link is a path, a file or a web address; links with other schemes are displayed as text. */
function isSafe(link: string): boolean {
  const trimmed = link.trim();
  return isWeb(trimmed) || /^file:\/\/\//i.test(trimmed) || !/^(?:[a-z][a-z0-9+.-]*:(?!\d)|\/\/|\\\\)/i.test(trimmed);
}

export const md = new MarkdownIt({ html: false, linkify: true, typographer: false });
md.validateLink = isSafe;
addFileLinks(md);
addTaskLists(md);
// Images become links, because the page would otherwise request any address that the model writes.
md.disable("image");

md.renderer.rules["link_open"] = (tokens, index, options, _env, self) => {
  const token = tokens[index];
  const href = token?.attrGet("href") ?? "";
  // Only the extension opens links. It asks the user before opening a web address.
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

const CODE_ACTIONS = [
  ["apply", "git-stash-apply", "Ask the agent to make this change"],
  ["insert", "insert", "Insert this code at the cursor"],
  ["copy", "copy", "Copy this code"],
] as const;

function codeBlock(text: string, language: string, isOpen: boolean): string {
  const { escapeHtml } = md.utils;
  const later = isOpen || language === "" ? "" : ` data-language="${escapeHtml(language)}"`;
  const buttons = CODE_ACTIONS.map(([name, sign, title]) => `<button type="button" class="icon" data-code="${name}" title="${title}" aria-label="${title}"><span class="codicon codicon-${sign}" aria-hidden="true"></span></button>`);
  const bar = `<div class="bar"><span>${escapeHtml(language)}</span><span class="code-actions">${isOpen ? "" : buttons.join("")}</span></div>`;
  return `<div class="code">${bar}<pre tabindex="0"><code class="hljs"${later}>${escapeHtml(text)}</code></pre></div>`;
}

interface Env {
  /** Whether the text is still streaming, so that its last block may change. */
  readonly isOpen: boolean;
}

md.renderer.rules.fence = (tokens, index, _options, env: Env) => {
  const token = tokens[index];
  const isLast = index === tokens.length - 1;
  return codeBlock(token?.content ?? "", /^\S*/.exec(token?.info.trim() ?? "")?.[0] ?? "", env.isOpen && isLast);
};
md.renderer.rules.code_block = (tokens, index) => codeBlock(tokens[index]?.content ?? "", "", false);

export type Token = ReturnType<typeof md.parse>[number];

export function parseMarkdown(text: string): Token[] {
  return md.parse(text, { isOpen: true });
}

export function drawTokens(tokens: Token[], isOpen: boolean): DocumentFragment {
  const template = document.createElement("template");
  template.innerHTML = md.renderer.render(tokens, md.options, { isOpen });
  return template.content;
}
