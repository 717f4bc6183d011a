"""Generate awk and sed scripts that hide a harmful command where one version reads text and another reads code.

Only scripts that the policy calls harmless are run, in each version of awk and sed of this machine. A script is
harmful if it makes a file.
"""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from agent_ls.policy.shell import awk, sed

AWKS = tuple(
    words for words in (("gawk",), ("mawk",), ("original-awk",), ("busybox", "awk")) if shutil.which(words[0])
)
SEDS = tuple(words for words in (("sed",), ("busybox", "sed")) if shutil.which(words[0]))
MADE = "made"
BATCH = 40

_SETS = (
    "[", "[^", "[]", "[^]", "[]a", "[^]a", "]", "[/]", "[^/]", "[/", "/]", "[\"]", "[^\"]", "[^\"", "[\\]", "[\\]]",
    "[\\/]", "[[:alpha:]", "[[:alpha:]]", "[[.].]", "[[=a=]]", "[a-", "[[]", "[]]", "[^]]", "\\[", "\\]", "[a]", "[^^]",
    "[[:a/:]]", "[[", "[#]", "[{]", "[;]", "[\\\\]",
)  # fmt: skip
_AWK_WORDS = (
    "/", "/", "/", '"', '"', "\\/", '\\"', "\\", " ", "\n", ";", "{", "}", "(", ")", "$", "$1", "1", "1.", ".5", "x",
    "~", "!~", "!", "++", "--", "=", "/=", "%", "^", "?", ":", ",", "#", "# ", "&&", "||", "*", "+", ".",
    "|", "length", "rand",
    "print", "print ", "getline", "in ", "if(1)", "if(x)", "while(0)", "for(;;)break;", "else ", "do ",
    "return", "NR", "NF",
    "function f(a) {", "BEGIN", "BEGIN{", "END{", "case ", "switch(1){", "default:", "next", "exit", "delete x", "x[1]",
    "length()", "length $0", "srand", "substr", "toupper(x)", "a b", "@", "`", "\\\n", "-", "<", ">",
)  # fmt: skip
_AWK_HARM = (
    f'print 1 > "{MADE}"',
    f'system("touch {MADE}")',
    f'print 1 | "cat > {MADE}"',
    f'printf "" >> "{MADE}"',
)
_SED_WORDS = (
    "s/", "s|", "s,", "s;", "s#", "/", "/", "|", ",", "#", "\\/", "\\|", "\\", "\\\n", "\n", ";", "{", "}",
    "p", "d", "n", "x",
    "a", "y/", "1", "$", "1,2", "!", " ", "g", "I", "\\n", "\\(", "\\)", "*", ".", "a\\", "i ", "c\\\n",
    ":a", "b a", "t", "\\%",
    "\\#", "%", "0~2", "+1", "&", "\\1", "=", "l", "q", "N", "D", "[a]", "M", "s", "y|",
)  # fmt: skip
_SED_HARM = (
    f"w {MADE}",
    f"e touch {MADE}",
    f"w{MADE}",
    f"s/x/touch {MADE}/e",
    f"s/x/y/w {MADE}",
    f"W {MADE}",
)
_SED_TAILS = (
    "",
    "\n",
    "\n/",
    "/",
    "/p",
    "\n]/x/",
    "\n}",
    "\n]/",
    "]/x/",
    "|",
    "\n|",
    "#",
    "/x/",
    "\n,",
    "\n/x/",
)


_AWK_STARTS = (
    "", "", "", "length ", "length", "rand ", "srand ", "x ", "1 ", "$1 ~ ", "!", "(1) ", "if(x) ",
    "BEGIN{if(1) ", "x[1] ", "x++ ",
    "++", "$", "- ", "NR==1 && ", "print ", "{print ", "{x = ", '"a" ', "1.", "toupper ", "{ exit ", "a=b ",
    "x ~ y ", "0 ? 1 : ",
    "{do ", "{while(0) ", "{return ", "(length) ", "length $0 ", "length()", "NF,", "x in y ", "{ next } ",
    "{ getline x } ", "int ",
)  # fmt: skip
_SED_STARTS = (
    "",
    "",
    "s/",
    "s|",
    "s,",
    "/",
    "1,/",
    "\\|",
    "\\,",
    "$!s/",
    "/x/s/",
    "/x/!",
    "y/",
    "y|",
    "{s/",
    "n;s/",
    "a ",
    "i\\\n",
    "s/x/",
)


def awk_programs(seed: int, count: int) -> Iterator[str]:
    """Yield `count` programs that the policy calls harmless and that contain a harmful command."""
    chance = random.Random(seed)
    kept: set[str] = set()
    for _ in range(count * 2_000):
        text, middle = _awk_text(chance) if chance.random() < 0.7 else (_damaged_program(chance), "")
        if text not in kept and "#" not in middle and awk.is_harmless(text):
            kept.add(text)
            yield text
            if len(kept) == count:
                return


def _awk_text(chance: random.Random) -> tuple[str, str]:
    """Return a program and its part before the harmful command."""
    start = chance.choice(_AWK_STARTS)
    quote = chance.choice(('"', '"', "/"))
    sets = chance.choice(_SETS)
    harm = chance.choice(_AWK_HARM)
    match chance.randrange(4):
        case 0:  # a set that one version closes
            before = f"{start}/{sets}{chance.choice(('/', ']/', '/x', ''))}{quote}"
            opened = chance.choice(("]/{", "]/ {", "/{", "]{", "{"))
        case 1:  # a slash that divides for one version
            before = f"{start}{chance.choice(('/', '/ ', '/x/', '/1/', ' / ', '//'))}{quote}"
            opened = chance.choice(("/{", "/ {", "/;{", "{", "/){"))
        case _:
            middle = "".join(chance.choices((*_AWK_WORDS, *_SETS), k=chance.choice((1, 1, 2, 3))))
            before = f"{start}{chance.choice(('/', ''))}{middle}{quote}"
            opened = chance.choice(("{", ";{", "}{", "]/{", "/{", "\n{", ";", ")", "x/{", "]{", "}"))
    tail = chance.choice(
        (f"}}#{quote}", f"}}#{quote}", f"}}#]/{quote}", f"}} {quote}", quote, f"}}#{quote}/", "}")
    )
    return before + opened + harm + tail, before


_AWK_USUAL = (
    "/^## / {p = 0} /^## 2.0/ {p = 1} p",
    "NR == FNR {a[$1] = 1; next} !($1 in a) {print}",
    '{ if ($3 / 2 > 10) print $1 / 2, "x"; else print "y" }',
    '{ s += $1 } END { print s / NR " MB" }',
    "match($0, /v[0-9.]+/) { print substr($0, RSTART) / 2 }",
    '/a/, /b/ { gsub(/[^"x]/, "-"); print length, x++ / 2 }',
    'BEGIN { for (i = 1; i <= 3; i++) { n = n " " i } exit } END { print n }',
    '$1 ~ /x/ && !/y\\/z/ || length > 3 { printf "%s\\n", $NF / 1 }',
)


def _damaged_program(chance: random.Random) -> str:
    """Return a usual program with some words of awk, and a harmful command, at random places."""
    text = chance.choice(_AWK_USUAL)
    harm = chance.choice(
        ("{}", "{{{}}}", '"{{{}}}#"', "/{{{}}}#/", '/"/{{{}}}#"', '#"{}', '"/{{{}}}#"', '";{};"')
    )
    words = (
        harm.format(chance.choice(_AWK_HARM)),
        *chance.choices((*_AWK_WORDS, *_SETS), k=chance.choice((0, 1, 2))),
    )
    for word in words:
        at = chance.randrange(len(text) + 1)
        text = text[:at] + word + text[at:]
    return text


def sed_scripts(seed: int, count: int) -> Iterator[str]:
    """Yield `count` scripts that the policy calls harmless and that contain a harmful command."""
    chance = random.Random(seed)
    kept: set[str] = set()
    for _ in range(count * 2_000):
        middle = "".join(chance.choices((*_SED_WORDS, *_SETS, *_SETS), k=chance.choice((1, 2, 3, 4))))
        if chance.random() < 0.4:  # a set that one version closes
            end = chance.choice(("/", "|", ","))
            closed = chance.choice(("]", "x]", "", "\\]"))
            command = chance.choice(("s", "", "y", "p;s", "!s"))
            middle = f"{chance.choice(_SETS)}{end}{command}{end}{closed}{end}"
        after = "".join(chance.choices((*_SED_WORDS, *_SETS), k=chance.choice((0, 0, 1, 2))))
        between = chance.choice((";", "\n", "/", "", "/p;", "/;", "|;", "]/", " ", "}"))
        text = (
            chance.choice(_SED_STARTS)
            + middle
            + between
            + chance.choice(_SED_HARM)
            + after
            + chance.choice(_SED_TAILS)
        )
        if text not in kept and not text.lstrip().startswith("#") and sed.is_harmless(text):
            kept.add(text)
            yield text
            if len(kept) == count:
                return


_RUN_ALL = r"""ulimit -t 2
while IFS= read -r -d "" script; do
    for program; do $program "$script" in < /dev/null > /dev/null 2>&1; done
done"""


def make_files(programs: Sequence[Sequence[str]], scripts: Sequence[str], folder: Path) -> bool:
    """Run each script with each program in an empty folder, and return whether one of them made a file."""
    made = folder / "in"
    made.write_text("x 1\ny/2\n")
    subprocess.run(
        ["bash", "-c", _RUN_ALL, "bash", *map(" ".join, programs)],
        input="".join(f"{script}\0" for script in scripts).encode(),
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    others = [path for path in folder.iterdir() if path != made]
    for path in others:
        path.unlink()
    return bool(others)
