"""Convert a web page to readable text: headings, paragraphs, lists, code and link targets. Pure."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser

from agent_ls.addresses import join_address
from agent_ls.patterns import regex

_SILENT = frozenset(
    ("script", "style", "noscript", "template", "svg", "iframe", "object", "select", "nav", "footer")
)
_BLOCKS = frozenset(
    (
        "p", "div", "section", "article", "main", "header", "aside", "ul", "ol", "li", "dl", "dt", "dd", "table", "tr",
        "blockquote", "pre", "figure", "figcaption", "form", "h1", "h2", "h3", "h4", "h5", "h6", "title", "br", "hr",
    )
)  # fmt: skip
_VOID = frozenset(
    ("br", "hr", "img", "input", "meta", "link", "source", "wbr", "area", "base", "col", "embed", "track")
)
_MANY_LINES = regex(r"\n{3,}")
_BLANKS = regex(r"\s+")


def do_nothing() -> None:
    return


def html_to_text(html: str, address: str, check: Callable[[], None] = do_nothing) -> str:
    """Return the text of a page. `address` is the page's own URL, for relative links.

    `check` is called at each tag and may raise to give up: some pages make the parser take quadratic time.
    """
    reader = _Reader(address, check)
    reader.feed(html)
    reader.close()
    lines = (line.rstrip() for line in "".join(reader.out).split("\n"))
    return _MANY_LINES.sub("\n\n", "\n".join(lines)).strip()


class _Reader(HTMLParser):
    def __init__(self, address: str, check: Callable[[], None]) -> None:
        super().__init__(convert_charrefs=True)
        self._check = check
        self.out: list[str] = []
        self._address = address
        self._silent: list[str] = []  # open elements inside which all text is dropped
        self._code = 0
        self._link: tuple[str, int] | None = (
            None  # the target of the open link, and the index in `out` at which the link text begins
        )

    def updatepos(self, i: int, j: int) -> int:
        """Do nothing, for speed. The base class counts line numbers here, which are not needed."""
        self._check()
        return j

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._silent or tag in _SILENT:
            if tag not in _VOID:
                self._silent.append(tag)
            return
        given = dict(attrs)
        if tag in _BLOCKS:
            self._break(tag)
        if tag == "pre":
            self._code += 1
        elif tag == "a" and (where := given.get("href")):
            self._link = (where, len(self.out))
        elif tag == "img" and (words := given.get("alt")):
            self.out.append(f"[image: {words}]")
        elif tag in ("td", "th"):
            self.out.append("| " if not self.out or self.out[-1].endswith("\n") else " | ")

    def handle_endtag(self, tag: str) -> None:
        if self._silent:
            if tag in self._silent:
                del self._silent[self._silent.index(tag) :]
            return
        if tag == "a" and self._link:
            self._close_link(*self._link)
        if tag == "pre":
            self._code = max(0, self._code - 1)
        if tag in _BLOCKS:
            self.out.append("\n" if tag in ("li", "tr", "dt", "dd") else "\n\n")

    def handle_data(self, data: str) -> None:
        if self._silent:
            return
        text = data if self._code else _BLANKS.sub(" ", data)
        if not self._code and (not self.out or self.out[-1].endswith("\n")):
            text = text.lstrip()
        if text:
            self.out.append(text)

    def _break(self, tag: str) -> None:
        self.out.append("\n" if tag in ("br", "li", "tr", "dt", "dd") else "\n\n")
        if tag == "li":
            self.out.append("- ")
        elif tag[0] == "h" and tag[1:].isdigit():
            self.out.append("#" * int(tag[1]) + " ")

    def _close_link(self, where: str, begin: int) -> None:
        self._link = None
        target = join_address(self._address, where)
        words = "".join(self.out[begin:]).strip()
        if words and target.startswith(("http://", "https://")) and not where.startswith("#"):
            self.out.append(f" ({target})")
