"""Pure: recognize calls that only print of programs that can do more: archives, certificates, short scripts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from agent_ls.patterns import regex
from agent_ls.policy.shell.arguments import one_a_line

Prints: TypeAlias = Callable[[list[str], Sequence[int]], bool]
"""Returns whether a call with these arguments only prints. The second list has the indexes of those with patterns."""


def _prints_as(pattern: re.Pattern[str]) -> Prints:
    """Return the check of a program that only prints if its arguments, one a line, match `pattern`."""

    def only_prints(arguments: list[str], patterns: Sequence[int]) -> bool:
        return not patterns and pattern.fullmatch(one_a_line(arguments)) is not None

    return only_prints


def tar_prints(arguments: list[str], patterns: Sequence[int]) -> bool:
    """Return whether tar only lists names, or prints files of the archive.

    The archive name must not contain `:`, because tar reads `host:file` as an archive on another machine.
    """
    if found := _TAR_LISTS.match(one_a_line(arguments)):  # `-t -v -f` is `-tvf`
        arguments = ["-tf", *arguments[found[0].count("\n") :]]
    if not arguments or not _TAR_PRINTS.fullmatch(arguments[0]) or patterns:
        return False
    rest = [word for word in arguments[1:] if word != "--wildcards"]
    return bool(rest) and ":" not in rest[0] and not any(word.startswith("-") for word in rest)


_TAR_LISTS = regex(r"(?=(?:-[vzjJ]+\n)*-[vzjJ]*t)(?:-[tvzjJ]+\n)+-f\n")
_TAR_PRINTS = regex(r"-?[tvzjJ]*t[tvzjJ]*f|--list|-?(?=[a-z]*x)(?=[a-zA-Z]*O)[xOvzjJ]+f")


def unzip_prints(arguments: list[str], patterns: Sequence[int]) -> bool:
    """Return whether unzip only lists, tests or prints an archive (`-l`, `-t`, `-p`), and extracts nothing."""
    if arguments[:1] in (["-q"], ["-qq"]):
        arguments = arguments[1:]
    lists = (
        bool(arguments)
        # An archive name with a pattern is refused, because unzip itself searches for the files that match the pattern.
        and not set("*?[") & set("".join(arguments[1:2]))
        and re.fullmatch(r"-(?:[vq1]*l[vq]*|v|Z[1lsmhtz]*|t|tq|qt|p)", arguments[0]) is not None
    )
    return lists and not patterns and not any(word.startswith("-") for word in arguments[1:])


def gzip_prints(arguments: list[str], patterns: Sequence[int]) -> bool:
    """Return whether gzip changes no file: it lists (`-l`), tests (`-t`) or writes to stdout (`-c`)."""
    writes_nothing = bool(arguments) and re.fullmatch(r"-d?[cltvk]+|-cd", arguments[0]) is not None
    keeps = writes_nothing and bool(set(arguments[0]) & set("clt"))
    # no name that such a pattern matches is an option
    is_pattern_clear = all(re.fullmatch(r"[^-*?\[].*[*?\[].*", arguments[at]) for at in patterns)
    return keeps and is_pattern_clear and not any(word.startswith("-") for word in arguments[1:])


def unpacks_to_stdout(name: str) -> Callable[[list[str], Sequence[int]], bool]:
    def only_prints(arguments: list[str], patterns: Sequence[int]) -> bool:
        """Return whether the program lists, tests or prints compressed files. Of several modes, the last one counts."""
        is_mode = bool(arguments) and _UNPACKS[name].fullmatch(arguments[0]) is not None
        return is_mode and not patterns and not any(word.startswith("-") for word in arguments[1:])

    return only_prints


_UNPACKS = {
    "xz": regex("-(?:dc|cd|l|lv|t|tv)|--list"),
    "bzip2": regex("-(?:dc|cd|t|tv)"),
    "zstd": regex("-(?:dc|cd|dcq|l|lv|t)"),
}


pdftotext_prints = _prints_as(
    regex(r"(?:-(?:layout|raw|q|nopgbrk|simple)\n|-[fl]\n\d+\n)*(?!-)[\w./+-]+\n-\n")
)
"""It prints the text: without `-` as its second operand, it writes a file."""


def sqlite_prints(arguments: list[str], patterns: Sequence[int] = ()) -> bool:
    """Return whether sqlite3 prints which tables a database has, without a change.

    A view or a virtual table may start a program or read another file, so no other table is read.
    """
    return not patterns and _SQLITE.fullmatch("\n".join(arguments)) is not None


_SQLITE = regex(
    r"(?=(?:-\w+\n)*-readonly\n)"
    r"(?:-(?:readonly|safe|header|noheader|csv|json|column|line|table|box|markdown|list)\n)+"
    r"(?!-)[\w./-]+\n(?:\.(?:tables|indexes|schema|dbinfo)(?: \w+)?"
    r"|pragma (?:table_info|table_xinfo|index_list|index_info|foreign_key_list)\(\w+\);?"
    r"|select (?:\w+(?:, ?\w+)*|\*|count\(\*\)) from sqlite_(?:master|schema)"
    r"(?: where \w+ ?(?:=|like) ?'[\w %-]*')?(?: order by \w+)?(?: limit \d+)?;?)",
    re.IGNORECASE,
)


openssl_prints = _prints_as(
    regex(
        r"version\n(?:-[abdefhopv]\n)*|rand\n-(?:hex|base64)\n\d+\n|dgst\n-(?:sha(?:1|256|384|512)|md5)\n(?:(?!-)[\w./-]+\n)+"
        r"|(?:req|crl)\n(?=(?:.*\n)*-noout\n)(?:-in\n(?!-)[\w./-]+\n|-(?:noout|text|subject|issuer)\n)+"
        r"|x509\n(?=(?:.*\n)*-noout\n)(?:-in\n(?!-)[\w./-]+\n"
        r"|-(?:noout|text|dates|(?:start|end)date|subject|issuer|serial|fingerprint|sha256|sha1|email|pubkey)\n)+"
    )
)
"""It prints its version, facts of a certificate, or a digest."""


COMPILERS = frozenset(("cc", "c++", "gcc", "g++", "clang", "clang++"))


compiler_prints = _prints_as(
    regex(
        r"-dump(?:version|fullversion|machine)\n|-Q\n--help=[\w,^]+\n(?:-O[0-3s]\n)?"
        r"|-print-(?:(?:file|prog)-name=[\w.+-]+|libgcc-file-name|search-dirs|multi-lib|multiarch|sysroot)\n"
        r"|(?=(?:.*\n)*-E\n)(?:-(?:E|dM|P|xc|xc\+\+|pthread|fopenmp|O[0-3s]|m(?:32|64|(?:arch|tune)=[\w.-]+)"
        r"|std=[\w+:]+)\n|-x\n(?:c|c\+\+)\n|/dev/null\n)+"
    )
)
"""It prints facts about itself, such as the macros that it defines. It reads no source: that may include any file."""


ffprobe_prints = _prints_as(
    regex(
        r"(?:-(?:hide_banner|show_(?:format|streams|chapters|programs)|pretty|sexagesimal)\n"
        r"|-(?:v|loglevel)\n(?:quiet|error|warning|info)\n|-(?:of|print_format)\n[\w=:.]+\n"
        r"|-select_streams\n[\w:]+\n|-show_entries\n[\w=,:]+\n)*"
        r"(?:-i\n)?(?!-)[\w./+ -]+\.(?:mp[34]|mkv|mov|webm|wav|flac|ogg|opus|m4a|avi|png|jpe?g|gif)\n"
    )
)
"""It prints facts of one media file. A playlist may name other files and addresses."""


_REGEX = r"""/(?:[\w .,:;=<>'"^*+?|()\[\]-]|\\.|\$(?=[/|)]))+/"""
_VALUE = r"\$(?:[1-9._](?![\[\w])|F\[-?\d\])"
_TEXT = rf'(?:{_VALUE}|"(?:[\w .,:;=-]|{_VALUE}|\\[nt])*")'
_WHEN = rf"(?:{_REGEX}[is]*|\d+\.\.\d+|\$\. ?(?:==|[<>]=?) ?\d+(?: && \$\. ?(?:==|[<>]=?) ?\d+)?)"
_ONE_LINERS = {
    "julia": regex(r"(?:--startup-file=no\n)?-e\nprintln\(VERSION\)\n|--version\n|-v\n"),
    "ruby": regex(r"-e\nputs RUBY_(?:VERSION|PLATFORM|ENGINE|PATCHLEVEL)\n|-(?:w?c|cw)\n(?!-)[\w./-]+\n"),
    # no `{`, `@` or `$x`, with which perl runs code in a pattern; no name with `|` or `<`, which perl would run
    "perl": regex(
        r'-e\nprint(?: ?(?:\d[\d+*/. -]*|"(?:[\w .,:;=-]|\\[nt])*"|,))+;?\n|'
        rf"(?:-F[,:;]\n|-0(?:777|0)?\n)*-(?:(?:l?a?ne|nle|nae)\nprint(?: {_TEXT})?"
        rf"(?: (?:if|unless) {_WHEN}| while {_REGEX}[is]*g[is]*)?;?\n"
        rf"|pe\ns{_REGEX}[\w .,:;=<>'\"-]*/[gi]*;?\n)(?:(?!-)[\w./-]+\n)*"
    ),
}


def one_liner_prints(name: str) -> Prints:
    """Return the check of julia, perl or ruby: a short program prints a fact, or lines of its input."""
    return _prints_as(_ONE_LINERS[name])


def printf_prints(arguments: list[str], patterns: Sequence[int]) -> bool:
    """Return whether printf only prints. With `%n` or `-v`, printf sets a variable, for example PATH."""
    if arguments[:1] == ["--"]:
        after, formats = arguments[1:], [at - 1 for at in patterns]
        return 0 not in formats and printf_prints([f"x{it}" for it in after], formats)
    if not arguments:
        return True
    left = re.sub(r"%[-+ #0]*(?:\d+|\*)?(?:\.(?:\d+|\*)?)?[sdiouxXeEfFgGcbq%]", "", arguments[0])
    return 0 not in patterns and not arguments[0].startswith("-") and "%" not in left


_NUMBER_TEST = regex("-(?:eq|ne|l[te]|g[te])")


def test_prints(arguments: list[str], patterns: Sequence[int]) -> bool:
    """Return whether a test compares words and files only, and no variables or numbers that the shell computes."""
    if len(arguments) == 3 and _NUMBER_TEST.fullmatch(arguments[1]):
        return all(re.fullmatch(r"-?\d+", word) for word in arguments[::2])
    return not any(re.fullmatch("-[vRo]", word) or _NUMBER_TEST.fullmatch(word) for word in arguments)


def command_prints(arguments: list[str], patterns: Sequence[int]) -> bool:
    """Return whether `command` only says what a name is."""
    return arguments[:1] in (["-v"], ["-V"])


def set_prints(arguments: list[str], patterns: Sequence[int]) -> bool:
    """Return whether `set` only changes when the line ends, or what of it is printed."""
    return bool(arguments) and all(
        re.fullmatch(r"[-+][eux]+|[-+]o|[-+][eux]*o|pipefail|errexit|nounset|xtrace", a) for a in arguments
    )
