// Markdown extension: converts file names in a text to links that open the file.
import type MarkdownIt from "markdown-it";

type Token = ReturnType<MarkdownIt["parse"]>[number];

/**
 * Matches `a/b.py`, `b.py:12`, `a/b.py:12-20`, `a/b.py#L12-L20`. A name counts as a file only if it has a folder or a
 * line.
 */
const NAMED = String.raw`(?:[\w.@~-]*/)*[\w.@-]+\.[A-Za-z]\w{0,9}`;
const PLACE = String.raw`(?::\d+(?:[-:]\d+)?|#L\d+(?:-L?\d+)?)`;
const WHOLE = new RegExp(`^${NAMED}${PLACE}?$`);
const IN_TEXT = new RegExp(`(?<![\\w/:.@-])${NAMED}${PLACE}(?![\\w/])`, "g");
const SOURCES = /\.(?:c|cc|cpp|cs|css|go|h|hpp|html|java|js|json|jsx|kt|lua|md|mjs|php|py|pyi|rb|rs|sh|sql|swift|toml|ts|tsx|txt|vue|xml|yaml|yml)$/i;

export function isFileName(text: string): boolean {
  if (!WHOLE.test(text)) return false;
  return /[/:#]/.test(text) || SOURCES.test(text);
}

function linkTokens(make: (type: string, tag: string, nesting: -1 | 0 | 1) => Token, text: string, inside: Token): Token[] {
  const open = make("link_open", "a", 1);
  open.attrSet("href", text);
  return [open, inside, make("link_close", "a", -1)];
}

/** Turns file names with a line inside a text into links. */
function splitText(make: (type: string, tag: string, nesting: -1 | 0 | 1) => Token, token: Token): Token[] {
  const parts: Token[] = [];
  let at = 0;
  const text = (content: string): Token => Object.assign(make("text", "", 0), { content });
  for (const { 0: name, index } of token.content.matchAll(IN_TEXT)) {
    if (index > at) parts.push(text(token.content.slice(at, index)));
    parts.push(...linkTokens(make, name, text(name)));
    at = index + name.length;
  }
  if (parts.length === 0) return [token];
  if (at < token.content.length) parts.push(text(token.content.slice(at)));
  return parts;
}

export function addFileLinks(md: MarkdownIt): void {
  // Otherwise `cart.py` would become a link to a host in the top-level domain .py.
  md.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
  md.core.ruler.push("files", ({ tokens, Token: Make }) => {
    const make = (type: string, tag: string, nesting: -1 | 0 | 1): Token => new Make(type, tag, nesting);
    for (const block of tokens) {
      let depth = 0;
      block.children = block.children?.flatMap((token) => {
        if (token.type === "link_open") depth += 1;
        if (token.type === "link_close") depth -= 1;
        if (depth > 0) return [token];
        if (token.type === "code_inline" && isFileName(token.content)) return linkTokens(make, token.content, token);
        return token.type === "text" ? splitText(make, token) : [token];
      }) ?? null;
    }
  });
}
