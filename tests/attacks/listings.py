"""Generate lines that pass names of files to xargs or as words; a file may decide the names, or a link leads out."""

from __future__ import annotations

import random
from collections.abc import Iterator

_LISTS = (
    "find . -name '*.txt'", "find . -name names.txt", "find .", "find . -type f", "git ls-files", "rg --files",
    "rg -l .", "grep -rl . .", "find . -name names.txt -print0", "git ls-files -z", "ls", "cat names.txt", "find src",
    "find . -name names.txt -exec cat {} +", "git diff --name-only", "rg -N . names.txt", "grep -h . names.txt",
)  # fmt: skip
_BETWEEN = (
    "sort", "sort -u", "uniq", "head -3", "head -n 5", "tail -1", "tail -n +1", "grep txt", "grep -v py", "cat",
    "sed p", "xargs cat", "xargs sort", "xargs grep -h .", "sort names.txt", "sort < names.txt", "head 5",
    "grep . names.txt", "(sort)", "(sort; cat names.txt)", "timeout 9 sort", "xargs -n1 head", "xargs ls", "xargs echo",
    "awk 1", "env sort", "(cd src; sort)", "{ sort; sort < names.txt; }", "grep -rh . .", "xargs -0 cat",
    "sort <> names.txt",
)  # fmt: skip
_XARGS = (
    "xargs",
    "xargs -0",
    "xargs -n1",
    "xargs -r",
    "x\\args",
    '"xargs"',
    "xargs -L1",
    "env xargs",
    "command xargs",
)
_READS = (
    "cat", "head -5", "grep -h .", "wc -l", "ls -l", "sort", "sed -n p", "awk 1", "rg -N .", "nl", "diff /dev/null",
    "git show", "grep -r .", "find", "xargs cat", "sh", "python3", "strings", "cat --", "git diff --no-index /dev/null",
)  # fmt: skip
_AROUND = (
    "{}", "{}", "{}", "({})", "cd src && {}", "ls; {}", "{} | cat", "for i in 1; do {}; done", "{} < names.txt",
    "echo $({})", "if true; then {}; fi", "{} 2>/dev/null", "sort names.txt; {}",
)  # fmt: skip


def pipelines(seed: int, count: int) -> Iterator[str]:
    chance = random.Random(seed)
    for _ in range(count):
        between = chance.choices(_BETWEEN, k=chance.choice((0, 0, 1, 1, 2)))
        listing = " | ".join((chance.choice(_LISTS), *between))
        line = f"{listing} | {chance.choice(_XARGS)} {chance.choice(_READS)}"
        if chance.random() < 0.4:
            line = _substituted(chance, listing)
        yield chance.choice(_AROUND).replace("{}", line, 1)


def _substituted(chance: random.Random, listing: str) -> str:
    """Return a line in which the shell splits what `listing` prints, instead of xargs."""
    reads = chance.choice(_READS)
    if chance.random() < 0.5:
        quote = chance.choice(("", "", '"'))
        return f"{reads} {quote}$({listing}){quote}{chance.choice(('', '', ' | cat', ' a.txt'))}"
    name = chance.choice(("$i", '"$i"', "./$i", "${i}", "$i/../../link"))
    return f"for i in $({listing}); do {reads} {name}; done"
