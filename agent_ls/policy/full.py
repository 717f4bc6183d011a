"""Pure: what mode full does not ask about, although the words of a command are dangerous or run code.

Two kinds of commands are part of the usual work of a model, and no more dangerous than what mode full allows anyway:
deleting a file that the session itself created, and a check such as `python3 -c 'import app; print(app.x)'`, whose code
the session could also write to a file and run. Code that itself deletes files, starts programs or uses the network
still needs approval, and so does code that names a path outside the workspace.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from os import path as ospath

from agent_ls.patterns import regex
from agent_ls.policy.shell.python_code import read_paths
from agent_ls.policy.shell.understand import CommandAnalysis
from agent_ls.policy.situation import Situation

_DELETES = regex(r"Deletes files \((?:rm|unlink)\)\.")
_INTERPRETER = r"(?:python[\d.]*|node|nodejs)"
_RUNS_CODE = regex(rf"It runs code of {_INTERPRETER} that is written in the command\.")
_RUNS_INPUT = regex(rf"{_INTERPRETER} runs programs that its input names\.")
_CODE_OPTIONS = ("-c", "-e", "-p", "--eval", "--print")
_HARMLESS_OPTIONS = ("-B", "-u", "-E", "-s", "-I", "-q")
_DOCUMENT = regex(
    rf"(?:^|[;&|(\s])/?(?:[\w.-]+/)*{_INTERPRETER}(?:[ \t]+-)?[ \t]*<<-?[ \t]*"
    r"(?P<quote>['\"]?)(?P<word>\w+)(?P=quote)[^\n]*\n(?P<body>.*?)^\t*(?P=word)[ \t]*$",
    re.DOTALL | re.MULTILINE,
)
_ACTS = regex(
    r"(?<![A-Za-z])(?:remove|removedirs|unlink|rmtree|rmdir|rmSync|rm|delete|truncate|shutil|move|rename|renames"
    r"|system|popen|spawn\w*|exec\w*|fork|kill|subprocess|child_process|pty|multiprocessing|signal|socket|urllib"
    r"|requests|https?|httpx|fetch|aiohttp|ftplib|smtplib|paramiko|net|dns|tls|eval|__import__|importlib|ctypes|cffi"
    r"|chmod|chown|chdir|setuid|run_path|runpy|dlopen)(?![a-z])|os\.replace",
    re.IGNORECASE,
)
_QUOTED = regex(r"\"([^\"\n]{1,500})\"|'([^'\n]{1,500})'")
MAX_CODE_CHARS = 8_000


def without_needless_reasons(
    found: CommandAnalysis, command: str, working_dir: str, situation: Situation
) -> CommandAnalysis:
    """Return the analysis without the reasons to ask that mode full does not need."""
    if found.dangers and _deletes_only_created(found, situation):
        found = replace(found, danger="", dangers=())
    if found.doubts and _runs_only_ordinary_code(found, command, working_dir, situation):
        found = replace(found, doubt="", doubts=())
    return found


def _deletes_only_created(found: CommandAnalysis, situation: Situation) -> bool:
    """Return whether the line is dangerous only because it deletes files, all of them created by the session."""
    if found.doubts or not all(map(_DELETES.fullmatch, found.dangers)):
        return False
    deleted: set[str] = set()
    for argv, folders in found.runs:
        if argv[0] not in ("rm", "unlink"):
            continue
        options = [word for word in argv[1:] if word.startswith("-")]
        operands = [word for word in argv[1:] if not word.startswith("-")]
        if not operands or any(
            option not in ("-f", "-v", "-fv", "-i", "--", "--force") for option in options
        ):
            return False
        deleted.update(ospath.normpath(ospath.join(place, word)) for place in folders for word in operands)
    return bool(deleted) and deleted <= situation.created


def _runs_only_ordinary_code(
    found: CommandAnalysis, command: str, working_dir: str, situation: Situation
) -> bool:
    """Return whether the line is doubtful only because it contains the code that it runs, and this code is ordinary."""
    inline = [why for why in found.doubts if _RUNS_CODE.fullmatch(why)]
    piped = [why for why in found.doubts if _RUNS_INPUT.fullmatch(why)]
    # a document of read-only code for python gives no doubt
    documents = [it for it in _DOCUMENT.finditer(command) if piped and read_paths(it["body"]) is None]
    if len(inline) + len(piped) != len(found.doubts) or len(piped) != len(documents):
        return False
    if any(not it["quote"] and re.search(r"[$`\\\\]", it["body"]) for it in documents):
        return False  # the shell would change the code
    inner = [_code_of(argv) for argv in found.commands if _is_interpreter(argv[0])] if inline else []
    codes = [code for code in inner if code is not None]
    # Each doubt needs its own code: an option such as `-r FILE` would run other code as well.
    return len(codes) == len(inner) and all(
        _is_ordinary(code, working_dir, situation) for code in (*codes, *(it["body"] for it in documents))
    )


def paths_in_code(found: CommandAnalysis, command: str, working_dir: str) -> list[str]:
    """Return the paths that texts in the code of the line may name, relative to the working directory."""
    if not any(_RUNS_CODE.fullmatch(why) or _RUNS_INPUT.fullmatch(why) for why in found.doubts):
        return []
    codes = [code for argv in found.commands if _is_interpreter(argv[0]) if (code := _code_of(argv))]
    codes += [it["body"] for it in _DOCUMENT.finditer(command)]
    names = [first or second for code in codes for first, second in _QUOTED.findall(code[:MAX_CODE_CHARS])]
    return [
        ospath.normpath(ospath.join(working_dir, name)) for name in dict.fromkeys(names) if "\0" not in name
    ]


def _code_of(argv: Sequence[str]) -> str | None:
    """Return the code in the words of an interpreter, "" if it runs a file; None for options that are not known."""
    rest = [word for word in argv[1:] if word not in _HARMLESS_OPTIONS]
    if len(rest) > 1 and rest[0] in _CODE_OPTIONS:
        return rest[1]
    return "" if not any(word.startswith("-") and word != "-" for word in rest) else None


def _is_interpreter(name: str) -> bool:
    return re.fullmatch(_INTERPRETER, ospath.basename(name)) is not None


def _is_ordinary(code: str, working_dir: str, situation: Situation) -> bool:
    """Return whether code neither acts on anything but files of the workspace nor names a place that needs approval."""
    if len(code) > MAX_CODE_CHARS or _ACTS.search(code):
        return False
    named = [first or second for first, second in _QUOTED.findall(code)]
    places = [ospath.normpath(ospath.join(working_dir, name)) for name in named if "\0" not in name]
    if any(name.startswith("~") for name in named):
        return False
    return not (
        situation.outside([place for name, place in zip(named, places, strict=True) if _is_path(name)])
        or situation.denied(places)
        or situation.secret(places)
        or situation.ignored(places)
        or situation.sensitive(places)
        or situation.own_state(places)
    )


def _is_path(text: str) -> bool:
    return text.startswith("/") or ".." in text.split("/")
