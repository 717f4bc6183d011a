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
