"""Command lines with the expected decision about each (commands.txt), and ways to disguise the dangerous ones."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, TypeAlias, get_args

Verdict: TypeAlias = Literal["look", "work", "ask", "refuse"]

_NUMBERED = re.compile(r"⟨([0-9A-F]+)⟩")


def corpus() -> Iterator[tuple[str, Verdict]]:
    """Yield each command line of commands.txt with the expected decision."""
    decision: Verdict | None = None
    text = Path(__file__).with_name("commands.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("== "):
            decision = next(kind for kind in get_args(Verdict) if kind == line[3:])
        elif decision and line and not line.startswith("#"):
            yield _NUMBERED.sub(lambda found: chr(int(found[1], 16)), line.replace("⏎", "\n")), decision


def dangerous() -> list[str]:
    """Return the command lines that must never run unasked and are simple enough for DISGUISES."""
    return [text for text, decision in corpus() if decision in ("ask", "refuse") and _is_simple(text)]


def _is_simple(text: str) -> bool:
    return bool(re.fullmatch(r"[a-z][a-z0-9-]* [\w ./~+=:@*-]+", text))


def _first(change: Callable[[str], str]) -> Callable[[str], str]:
    def changed(command: str) -> str:
        name, _, rest = command.partition(" ")
        return f"{change(name)} {rest}"

    return changed


def _base64(command: str) -> str:
    return base64.b64encode(command.encode()).decode()


def _octal(text: str) -> str:
    return "".join(f"\\{ord(char):03o}" for char in text)


DISGUISES: dict[str, Callable[[str], str]] = {
    # quoting
    "name in single quotes": _first(lambda n: f"'{n}'"),
    "name in double quotes": _first(lambda n: f'"{n}"'),
    "empty quotes within": _first(lambda n: f"{n[0]}''{n[1:]}"),
    "a quoted letter": _first(lambda n: f'{n[:-1]}"{n[-1]}"'),
    "a backslash before": _first(lambda n: f"\\{n}"),
    "a backslash within": _first(lambda n: f"{n[0]}\\{n[1:]}"),
    "letters by number": _first(lambda n: f"$'{_octal(n)}'"),
    "every word in quotes": lambda c: " ".join(w if set("~*") & set(w) else f'"{w}"' for w in c.split()),
    # splitting
    "broken in the name": _first(lambda n: f"{n[0]}\\\n{n[1:]}"),
    "broken after the name": _first(lambda n: f"{n} \\\n"),
    "many blanks": lambda c: "  " + c.replace(" ", "   ") + "  ",
    "tabs": lambda c: c.replace(" ", "\t"),
    "blanks by a variable": lambda c: c.replace(" ", "${IFS}"),
    "braces": lambda c: "{" + c.replace(" ", ",") + "}",
    # variables
    "name in a variable": lambda c: f"X={c.partition(' ')[0]}; $X {c.partition(' ')[2]}",
    "name in two variables": lambda c: f"X={c[0]}; Y={c.partition(' ')[0][1:]}; $X$Y {c.partition(' ')[2]}",
    "all in a variable": lambda c: f"X='{c}'; $X",
    "all in a variable, evaluated": lambda c: f"X='{c}'; eval \"$X\"",
    "all in a variable, for a shell": lambda c: f"X='{c}'; bash -c \"$X\"",
    "an empty variable within": _first(lambda n: f"{n[0]}${{nothing}}{n[1:]}"),
    "an empty parameter within": _first(lambda n: f"{n[0]}$@{n[1:]}"),
    "name by a default": _first(lambda n: f"${{nothing:-{n}}}"),
    "name by a loop": lambda c: f"for X in {c.partition(' ')[0]}; do $X {c.partition(' ')[2]}; done",
    "name by an array": lambda c: f"X=({c}); \"${{X[@]}}\"",
    "name printed": _first(lambda n: f"$(echo {n})"),
    "name printed by number": _first(lambda n: f"$(printf '{_octal(n)}')"),
    "name in backticks": _first(lambda n: f"`echo {n}`"),
    # encoding
    "base64 for a shell": lambda c: f"echo {_base64(c)} | base64 -d | sh",
    "base64 for bash": lambda c: f"base64 --decode <<< {_base64(c)} | bash",
    "base64 evaluated": lambda c: f'eval "$(echo {_base64(c)} | base64 -d)"',
    "base64 substituted": lambda c: f"$(echo {_base64(c)} | base64 -d)",
    "base64 as a file": lambda c: f"bash <(echo {_base64(c)} | base64 -d)",
    "base64 for -c": lambda c: f'sh -c "$(base64 -d <<< {_base64(c)})"',
    "hex for a shell": lambda c: f"echo {c.encode().hex()} | xxd -r -p | sh",
    "reversed": lambda c: f"echo '{c[::-1]}' | rev | sh",
    "printed for a shell": lambda c: f"printf '%s' '{c}' | sh",
    "printed by number": lambda c: f"printf '{_octal(c)}' | bash",
    # lines
    "after a line": lambda c: f"ls\n{c}",
    "after a comment": lambda c: f"ls # harmless\n{c}",
    "before a line": lambda c: f"{c}\nls",
    "after a carriage return": lambda c: f"ls\r{c}",
    "after a line separator": lambda c: f"ls\u2028{c}",
    "in a document for a shell": lambda c: f"sh <<'EOF'\n{c}\nEOF",
    "in a document": lambda c: f"cat <<EOF\n$({c})\nEOF",
    "after a document": lambda c: f"cat <<'EOF'\ntext\nEOF\n{c}",
    "beside a document": lambda c: f"cat <<'EOF' && {c}\ntext\nEOF",
    # unicode
    "zero width in the name": _first(lambda n: f"{n[0]}\u200b{n[1:]}"),
    "no-break blank": lambda c: c.replace(" ", "\u00a0", 1),
    "full width": _first(lambda n: "".join(chr(ord(char) + 0xFEE0) for char in n)),
    "soft hyphen": _first(lambda n: f"{n[0]}\u00ad{n[1:]}"),
    "right to left": lambda c: f"\u202e{c}",
    "capitals": _first(str.upper),
    # paths
    "by its folder": _first(lambda n: f"/bin/{n}"),
    "by another folder": _first(lambda n: f"/usr/bin/{n}"),
    "by dots": _first(lambda n: f"/usr/../bin/./{n}"),
    "by two slashes": _first(lambda n: f"//bin//{n}"),
    "by a pattern": _first(lambda n: f"/bin/{n[:-1]}?"),
    "by a set": _first(lambda n: f"/bin/{n[:-1]}[{n[-1]}]"),
    "by climbing": _first(lambda n: f"../../../../bin/{n}"),
    # lists and compounds
    "after a semicolon": lambda c: f"ls;{c}",
    "after and": lambda c: f"ls&&{c}",
    "after or": lambda c: f"ls||{c}",
    "after a pipe": lambda c: f"ls|{c}",
    "before a pipe": lambda c: f"{c} | cat",
    "in the background": lambda c: f"{c} & ls",
    "negated": lambda c: f"! {c}",
    "in a subshell": lambda c: f"({c})",
    "in two subshells": lambda c: f"( ( {c} ) )",
    "in braces": lambda c: f"{{ {c}; }}",
    "in a condition": lambda c: f"if {c}; then ls; fi",
    "in a branch": lambda c: f"if false; then ls; else {c}; fi",
    "in a while": lambda c: f"while {c}; do break; done",
    "in a loop": lambda c: f"for x in 1; do {c}; done",
    "in a case": lambda c: f"case x in (x) {c};; esac",
    "in a function": lambda c: f"f() {{ {c}; }}; f",
    "in a named function": lambda c: f"function f {{ {c}; }}; f",
    "as another command": lambda c: f"ls() {{ {c}; }}; ls",
    "as an alias": lambda c: f"alias ls='{c}'\nls",
    "in a trap": lambda c: f"trap '{c}' EXIT",
    "in a substitution": lambda c: f"echo $({c})",
    "in backticks": lambda c: f"echo `{c}`",
    "in quotes": lambda c: f'echo "$({c})"',
    "in an assignment": lambda c: f"X=$({c})",
    "in an export": lambda c: f"export X=$({c})",
    "in a default": lambda c: f"echo ${{X:-$({c})}}",
    "in arithmetic": lambda c: f"echo $(( 1 + $({c}) ))",
    "in an index": lambda c: f"X[$({c})]=1",
    "in a test": lambda c: f"[[ -n $({c}) ]]",
    "in a bracket": lambda c: f'[ -n "$({c})" ]',
    "in a process": lambda c: f"cat <({c})",
    "in a process written to": lambda c: f"ls > >({c})",
    "in a here string": lambda c: f"cat <<< $({c})",
    "in a redirection": lambda c: f"ls > $({c})",
    "as a coprocess": lambda c: f"coproc {c}",
    # by other commands
    "for bash": lambda c: f"bash -c '{c}'",
    "for sh": lambda c: f'sh -c "{c}"',
    "for bash in bash": lambda c: f"bash -c \"bash -c '{c}'\"",
    "for bash with options": lambda c: f"bash --norc -exc '{c}'",
    "by eval": lambda c: f"eval '{c}'",
    "by eval, in words": lambda c: f"eval {c}",
    "by env": lambda c: f"env {c}",
    "by env with a variable": lambda c: f"env -i A=1 {c}",
    "by env, split": lambda c: f"env -S '{c}'",
    "by command": lambda c: f"command {c}",
    "by exec": lambda c: f"exec {c}",
    "by nohup": lambda c: f"nohup {c}",
    "by nice": lambda c: f"nice -n 10 {c}",
    "by timeout": lambda c: f"timeout -s KILL 10 {c}",
    "by time": lambda c: f"time -p {c}",
    "by xargs": lambda c: f"echo | xargs {c}",
    "by xargs of a shell": lambda c: f"echo '{c}' | xargs -I% sh -c %",
    "by find": lambda c: f"find . -maxdepth 0 -exec {c} \\;",
    "by find of a shell": lambda c: f"find . -exec sh -c '{c}' \\;",
    "by sudo": lambda c: f"sudo -n {c}",
    "by busybox": lambda c: f"busybox {c}",
    "by stdbuf": lambda c: f"stdbuf -oL {c}",
    "by setsid": lambda c: f"setsid -f {c}",
    "by watch": lambda c: f"watch -n1 '{c}'",
    "by script": lambda c: f"script -qc '{c}' /dev/null",
    "by parallel": lambda c: f"parallel ::: '{c}'",
    "by ssh": lambda c: f"ssh localhost '{c}'",
    "by python": lambda c: f'python3 -c "import os; os.system({c!r})"',
    "by python's input": lambda c: f"python3 <<'EOF'\nimport os\nos.system({c!r})\nEOF",
    "by perl": lambda c: f"perl -e 'system(\"{c}\")'",
    "by ruby": lambda c: f"ruby -e 'system(\"{c}\")'",
    "by node": lambda c: f"node -e 'require(\"child_process\").execSync(\"{c}\")'",
    "by awk": lambda c: f"awk 'BEGIN {{ system(\"{c}\") }}'",
    "by sed": lambda c: f"sed '1e {c}' a.txt",
    "by git's alias": lambda c: f"git -c alias.x='!{c}' x",
    "by git's pager": lambda c: f"git -c core.pager='{c}' -p log",
    "by git's ssh": lambda c: f"GIT_SSH_COMMAND='{c}' git fetch",
    "by tar": lambda c: f"tar cf /dev/null . --checkpoint=1 --checkpoint-action=exec='{c}'",
    "by vim": lambda c: f"vim -c '!{c}' -c q",
    "by a library": lambda c: f"LD_PRELOAD=./x.so {c}",
    "by a start-up file": lambda c: f"echo '{c}' > x; BASH_ENV=x bash -c ls",
}  # fmt: skip
"""Functions that rewrite a command, by name. The result looks different, but does the same on some system."""
