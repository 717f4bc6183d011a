"""Rewrite a unified diff, as git and diff print it, as a v4a patch: models that know git write it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from agent_ls.patch.errors import PatchError
from agent_ls.patch.v4a_parser import ADD, BEGIN, DELETE, END, MOVE, UPDATE
from agent_ls.patterns import regex

_RANGE = regex(r"@@ -(?P<at>\d+)(?:,(?P<old>\d+))? \+\d+(?:,(?P<new>\d+))? @@")
_NOTHING = "/dev/null"
_FENCE = regex(r"\s*(?:```|~~~)")


@dataclass(slots=True)
class _FileSection:
    """The part of a diff about one file. "" as a name: the file does not exist on this side."""

    old: str
    new: str
    lines: list[str] = field(default_factory=list)


def to_v4a(text: str) -> str:
    """Return the diff as a v4a patch; "" if the text is no unified diff.

    Raises:
        PatchError: the diff is cut off, or has lines whose place only a line number says.
    """
    sections = [*_sections([line.removesuffix("\r") for line in text.split("\n")])]
    if not sections:
        return ""
    return "\n".join((BEGIN, *(line for section in sections for line in _rewrite(section)), END))


def _sections(lines: list[str]) -> Iterator[_FileSection]:
    section: _FileSection | None = None
    renamed = ""
    for at, line in enumerate(lines):
        after = lines[at + 1] if at + 1 < len(lines) else ""
        if line.startswith("--- ") and after.startswith("+++ ") and _is_header(lines, at):
            if section:
                yield section
            old, new = _name(line[4:]), _name(after[4:])
            section = _FileSection(*_without_prefixes(old, new))
            renamed = ""
        elif line.startswith("diff --git "):
            if section:
                yield section
            section = None
        elif line.startswith("rename from ") and section is None:
            renamed = _name(line[12:])
        elif line.startswith("rename to ") and renamed:
            following = lines[at + 1 : at + 3]
            if not any(it.startswith("--- ") for it in following):
                yield _FileSection(renamed, _name(line[10:]))
            renamed = ""
        elif section and not (line.startswith("+++ ") and not section.lines):
            if line.startswith("*** ") or _FENCE.match(line):
                yield section
                section = None
            else:
                section.lines.append(line)
    if section:
        yield section


def _is_header(lines: list[str], at: int) -> bool:
    """Return whether the two lines at `at` begin a file, and are no lines of a hunk that begin with `--` and `++`."""
    return at + 2 >= len(lines) or lines[at + 2].startswith("@@")


def _name(text: str) -> str:
    name = text.partition("\t")[0].strip()
    if len(name) > 1 and name[0] == name[-1] == '"':
        name = (
            name[1:-1]
            .encode("latin-1", "replace")
            .decode("unicode_escape")
            .encode("latin-1")
            .decode("utf-8", "replace")
        )
    return "" if name == _NOTHING else name


def _without_prefixes(old: str, new: str) -> tuple[str, str]:
    """Return the names without the `a/` and `b/` of git."""
    if (not old or old.startswith("a/")) and (not new or new.startswith("b/")):
        return old[2:], new[2:]
    return old, new


def _rewrite(section: _FileSection) -> Iterator[str]:
    lines = section.lines
    while lines and not lines[-1].strip():
        lines.pop()
    _check_hunks(section)
    if not section.old:
        yield f"{ADD}{section.new}"
        yield from (line for line in lines if line.startswith("+"))
    elif not section.new:
        yield f"{DELETE}{section.old}"
    else:
        yield f"{UPDATE}{section.old}"
        if section.new != section.old:
            yield f"{MOVE}{section.new}"
        yield from lines


def _check_hunks(section: _FileSection) -> None:
    """Check that no hunk is cut off, and that each has a line of the file.

    Raises:
        PatchError
    """
    name = section.old or section.new
    starts = [at for at, line in enumerate(section.lines) if line.startswith("@@")]
    for start, end in zip(starts, [*starts[1:], len(section.lines)], strict=False):
        body = section.lines[start + 1 : end]
        found = _RANGE.match(section.lines[start])
        if found and end == len(section.lines):
            wanted = int(found["new"] or 1) if found["new"] != "0" else 0
            if sum(not line.startswith(("-", "\\")) for line in body) < wanted - _blank_loss(section.lines):
                raise PatchError.of(
                    "TRUNCATED",
                    f"The diff of {name} looks cut off: its last hunk has fewer lines than it says",
                    path=name,
                )
        only_added = body and all(line.startswith(("+", "\\")) for line in body)
        if section.old and only_added and not (found and found["at"] == "0"):
            raise PatchError.of(
                "PARSE", f"A hunk of {name} has only added lines: give some lines around them too", path=name
            )


def _blank_loss(lines: list[str]) -> int:
    """Return how many lines at the end of a hunk may be missing, because they are blank and were stripped."""
    return 3 if lines else 0
