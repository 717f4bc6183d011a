"""Pure: find the paths that an argument of a command may contain, including values attached to an option."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os import path as ospath

from agent_ls.patterns import regex

HARMLESS_PLACES = frozenset(
    "/dev/null /dev/stdout /dev/stderr /dev/stdin /dev/tty /dev/zero /dev/urandom".split()
)
WRITABLE_PLACES = frozenset(("/dev/null", "/dev/zero", "/dev/full", "/dev/tty"))
"""Devices that may be written without approval.

/dev/stdout and similar names are left out, because opening one opens the file that the descriptor refers to.
"""
MAX_PATH_CHARS = 4096

_ONE_LETTER = ("I", "L", "D", "W")
"""Options whose value is the rest of the word, as in `-Iinclude` of a compiler."""
_STARTS = regex(r"/|\.\.|~")
_VALUE = regex(r"(?<=[=:@,])(?=/|\.\.|~)")
_DOTS_BY_PATTERN = regex(r"(^|/)\.[.*?\[][^/]*[*?\[\]]*(/|$)")


def one_a_line(arguments: Iterable[str]) -> str:
    """Return the arguments as lines, for patterns of a whole call."""
    return "".join(f"{argument}\n" for argument in arguments)


def candidates(argument: str) -> Iterator[str]:
    """Yield the parts of an argument that may be a path: option values, and text from `/`, `..` or `~` on.

    A URL is yielded as a whole, because it is also a valid relative path (below a folder named `http:`).
    """
    if len(argument) > MAX_PATH_CHARS or "\0" in argument:
        return
    text = argument.removeprefix("file://")
    if "\n" in text or "://" in text:
        yield text if not text.startswith("-") else text.partition("=")[2] or text[2:]
        if "\n" not in text:
            name, _, value = text.partition("=")
            yield from filter(None, ("" if "://" in name else value, text.partition("file://")[2]))
        return
    if not text.startswith("-"):
        yield text
        if "=" in text:
            yield text.partition("=")[2]
    elif "=" in text:
        yield text.partition("=")[2].removeprefix("file:")
    elif not text.startswith("--"):
        if len(text) > 2:
            yield text[2:]  # `-fname`, `-Isrc/include`
        if (found := _STARTS.search(text)) and text[1:2] not in _ONE_LETTER:
            yield text[found.start() :]  # `-xf/a`
    for found in _VALUE.finditer(text):
        yield text[found.start() :]  # `type=bind,src=/`, `@/etc/x`, `host:/x`


def may_climb(pattern: str) -> bool:
    """Return whether a pattern such as `.*` may match `..`."""
    return any(
        part.startswith(".") and part not in (".", "..") and any(c in part for c in "*?[")
        for part in pattern.split("/")
    ) and bool(_DOTS_BY_PATTERN.search(pattern))


def absolute(text: str, folder: str, home: str) -> str:
    """Return the absolute path to which a shell in `folder` resolves `text`. Patterns are not expanded."""
    if text == "~" or text.startswith("~/"):
        text = home + text[1:]
    elif text.startswith("~"):
        text = f"/home/{text[1:]}"  # the home of another user is never in the workspace
    return ospath.normpath(ospath.join(folder, text)) if text else folder
