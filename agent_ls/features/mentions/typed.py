"""Pure: find the mentions in the text of a message, for clients that send text only.

@diff  @staged  @commit:REVISION  @symbol:NAME  @terminal:ID  @https://…  @PATH, for an image
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from os.path import join, normpath

from agent_ls.features.mentions.values import (
    CommitMention,
    DiffMention,
    FileMention,
    Mention,
    PageMention,
    SymbolMention,
    TerminalMention,
)
from agent_ls.patterns import regex

IMAGE_NAMES = (".png", ".jpg", ".jpeg", ".gif", ".webp")

_WORD = regex(r"(?<!\S)@([^\s@][^\s]*)")
_END = ".,;:!?)]'\""
_NAMED: dict[str, Callable[[str], Mention]] = {
    "commit": CommitMention,
    "symbol": SymbolMention,
    "terminal": TerminalMention,
}


def find_mentions(text: str, folder: str) -> Iterator[Mention]:
    """Yield each mention once, in the order of the text. Files that are not images, and folders, are left out:
    the text already names them. Paths are relative to `folder`.
    """
    words = (word.rstrip(_END) for word in _WORD.findall(text))
    yield from dict.fromkeys(found for word in words if (found := _mention(word, folder)))


def find_file_words(text: str) -> Iterator[str]:
    """Yield each word after `@` that has the form of a file or folder, once, without lines (`:3-9`, `#L3`).

    Decorators (`@app.route("/")`), packages (`@types/node`), names of people and addresses have another form.
    """
    words = (_LINES.sub("", word.rstrip(_END)) for word in _WORD.findall(text))
    yield from dict.fromkeys(word for word in words if _FILE.fullmatch(word))


_LINES = regex(r"(?::\d+(?:[-:]\d+)?|#L\d+(?:-L?\d+)?)\Z")
_NAME = r"[\w.+-]+"
_FILE = regex(
    rf"(?:/|\.{{1,2}}/)?(?:{_NAME}/)+|(?:\.{{1,2}}/)+{_NAME}(?:/{_NAME})*|/?(?:{_NAME}/)+[\w.+-]*\.\w{{1,8}}"
    rf"|{_NAME}\.(?:bat|c|cc|cfg|cjs|cpp|cs|css|csv|cts|dart|go|h|hpp|hs|html|ini|ipynb|java|js|json|jsonc|jsx|kt|kts|lua|md"
    r"|mdx|mjs|mts|pdf|php|pl|proto|ps1|py|pyi|rb|rs|rst|scala|scss|sh|sql|svelte|svg|swift|tf|toml|ts|tsx|txt|vue|xml"
    r"|ya?ml|zig)"
)


def _mention(word: str, folder: str) -> Mention | None:
    if word in ("diff", "staged"):
        return DiffMention(word == "staged")
    if word.startswith(("https://", "http://")):
        return PageMention(word)
    kind, _, name = word.partition(":")
    if name and kind in _NAMED:
        return _NAMED[kind](name)
    if word.lower().endswith(IMAGE_NAMES):
        return FileMention(normpath(join(folder, word)))
    return None
