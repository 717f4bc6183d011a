"""Read the files that an instruction file imports, for example by `@docs/style.md` in CLAUDE.md or GEMINI.md."""

from __future__ import annotations

import ntpath
import posixpath
import re
from collections.abc import AsyncIterator

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.environments.errors import EnvError, OutsideBoundsError, PathNotFoundError
from agent_ls.patterns import regex
from agent_ls.profiles.document_lookup import NO_LOOKUP, Lookup
from agent_ls.text import decode

_MARKDOWN_ONLY = ("agents.md", "agents.override.md")
"""Names of files whose format has no imports, but which several agents read so: only Markdown files are imported."""
IMPORTING = ("claude.md", "claude.local.md", "gemini.md", "qwen.md", ".goosehints", *_MARKDOWN_ONLY)
"""Names of files whose imports are followed, in small letters."""

MAX_DEPTH = 5
MAX_IMPORTS = 20
MAX_BYTES = 256 * 1024

_CODE = regex(r"^(```|~~~).*?^\1|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_IMPORT = regex(
    r"^[ \t]*(?:[-*+] )?@(?P<line>[^@\n`]*[^\s@`] [^@\n`]*\.\w{1,5})[ \t]*$"  # a line with a path that has spaces
    r"|(?<!\S)@(?P<word>(?:\\ |[^\s\\`])+)",
    re.MULTILINE,
)
_MISSING = "[This imported file does not exist.]"
OUTSIDE = "[This import is not read, because the file is outside of the project.]"
_CERTAIN = ".md"
"""Names with this ending are imports also if there is no such file: nobody means a person or a package."""


def find_import_paths(text: str) -> list[str]:
    """Return the paths that a text imports, as they are written. Paths in code are no imports."""
    found = (
        (match["line"] or match["word"]).replace("\\ ", " ").rstrip(".,;:)")
        for match in _IMPORT.finditer(_CODE.sub("", text))
    )
    return [path for path in dict.fromkeys(found) if path]


async def read_imports(
    environment: ExecutionEnvironment,
    path: str,
    text: str,
    left: list[int] | None = None,
    depth: int = 1,
    lookup: Lookup = NO_LOOKUP,
) -> AsyncIterator[tuple[str, str]]:
    """Yield path and text of each file that `text`, the content of `path`, imports, directly or indirectly.

    An imported file precedes the file that imports it. A path is relative to the importing file, or to the file to
    which that one is a link. If `environment` refuses to read a file, or a Markdown file does not exist, the yielded
    text says so. Another name without a file (`@ada`) is not an import. `left` is the remaining number of imports that
    may be read.
    """
    left = left if left is not None else [MAX_IMPORTS]
    for name in find_import_paths(text):
        if left[0] <= 0:
            return
        if path.lower().endswith(_MARKDOWN_ONLY) and not name.lower().partition("#")[0].endswith(_CERTAIN):
            continue
        target, found = await _find_import(environment, path, name)
        if found == _MISSING and (real := await lookup.real_path(path)) != path:
            behind = await _find_import(environment, real, name)
            target, found = behind if behind[1] not in ("", _MISSING) else (target, found)
        if not found:
            continue
        left[0] -= 1
        if depth < MAX_DEPTH:
            async for inner in read_imports(environment, target, found, left, depth + 1, lookup):
                yield inner
        yield target, found


async def _find_import(environment: ExecutionEnvironment, path: str, name: str) -> tuple[str, str]:
    """Return path and text of a file that `path` imports as `name`, "" for the text if it is no import."""
    rules = ntpath if environment.platform() == "windows" else posixpath
    target = rules.normpath(rules.join(rules.dirname(path), name))
    if name.startswith("~"):  # a project must not import the user's own files
        return target, OUTSIDE if name.endswith(_CERTAIN) else ""
    found = await read_import(environment, target)
    if "#" in name and (not found or found == _MISSING):  # a heading of the file: the whole file is read
        target = target.partition("#")[0]
        found = await read_import(environment, target)
    return target, found


async def read_import(environment: ExecutionEnvironment, path: str) -> str:
    """Return the text of a file, a note why it is not read, or "" if there is nothing to read."""
    try:
        data = await environment.read_bytes(path, MAX_BYTES)
    except OutsideBoundsError:
        return OUTSIDE
    except PathNotFoundError:
        return _MISSING if path.endswith(_CERTAIN) else ""
    except EnvError:
        return ""
    return "" if b"\0" in data else decode(data).text.strip()
