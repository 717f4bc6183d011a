"""ENGINE: which places an argument of a command may name, however it is attached to an option."""

from __future__ import annotations

import re
from collections.abc import Iterator
from os import path as ospath

HARMLESS_PLACES = frozenset(
    "/dev/null /dev/stdout /dev/stderr /dev/stdin /dev/tty /dev/zero /dev/urandom".split()
)
MAX_PATH_CHARS = 4096

_ONE_LETTER = ("I", "L", "D", "W")
"""Of these, all that follows is the value: compilers take them so."""
_STARTS = re.compile(r"/|\.\.|~")
_VALUE = re.compile(r"(?<=[=:@,])(?=/|\.\.|~)")
_DOTS_BY_PATTERN = re.compile(r"(^|/)\.[.*?\[][^/]*[*?\[\]]*(/|$)")


def candidates(argument: str) -> Iterator[str]:
    """What of it may be a path, most of all where it would lead out of a folder. Addresses of the net are none."""
    if len(argument) > MAX_PATH_CHARS or "\n" in argument or "\0" in argument:
        return
    text = argument
    if "://" in text:
        if not text.startswith("file://"):
            return
        text = text.removeprefix("file://")
    if not text.startswith("-"):
        yield text
        if "=" in text:
            yield text.partition("=")[2]
    elif "=" in text:
        yield text.partition("=")[2]
    elif not text.startswith("--"):
        if len(text) > 2:
            yield text[2:]  # `-fname`, `-Isrc/include`
        if (found := _STARTS.search(text)) and text[1:2] not in _ONE_LETTER:
            yield text[found.start() :]  # `-xf/a`
    for found in _VALUE.finditer(text):
        yield text[found.start() :]  # `type=bind,src=/`, `@/etc/x`, `host:/x`


def may_climb(pattern: str) -> bool:
    """Whether a pattern such as `.*` may stand for `..`."""
    return any(
        part.startswith(".") and part not in (".", "..") and any(c in part for c in "*?[")
        for part in pattern.split("/")
    ) and bool(_DOTS_BY_PATTERN.search(pattern))


def absolute(text: str, folder: str, home: str) -> str:
    """As the shell in `folder` would take it; a pattern stands as it is written."""
    if text == "~" or text.startswith("~/"):
        text = home + text[1:]
    elif text.startswith("~"):
        text = f"/home/{text[1:]}"  # another user's: outside in any case
    return ospath.normpath(ospath.join(folder, text)) if text else folder
