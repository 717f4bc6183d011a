"""A line that moves to another folder and reads there is asked about, however `cd` is spelled.

Each line is run in the shells of this machine: those that print a file from outside the workspace must be asked
about in every mode.
"""

from __future__ import annotations

import shutil

import pytest

from agent_ls.environments.effects import CommandEffect
from agent_ls.policy.decide import judge
from agent_ls.policy.situation import Allow, Ask, Situation
from agent_ls.services.permissions.paths import read_effect_facts
from tests.policy.fuzz import SECRET, Scratch

pytestmark = pytest.mark.req("X7", "T10")

SHELLS = [words for words in (["bash"], ["dash"], ["busybox", "sh"], ["zsh"]) if shutil.which(words[0])]

SPELLINGS = (
    "cd", r"\cd", "'cd'", 'c"d"', "c''d", r"c\d", "$'cd'", "$'\\x63d'", "command cd", "builtin cd", r"\command \cd",
    "$(echo cd)", "`echo cd`", "c=cd; $c", "c=d; c$c", "chdir", "command -p cd", "CDPATH= cd", "cd -P", "cd -L --",
    "time cd", "exec cd", "env cd", "{,c}d", "eval cd", "eval 'cd'", ">/dev/null cd", "2>&1 cd", "A=1 cd",
)  # fmt: skip

FRAMES = (
    "cd sub && {} .. && {} .. && cat outside/secret.txt",
    "cd sub && if {} ..; then {} ..; cat outside/secret.txt; fi",
    "cd sub; if true; then {} ..; fi; cat ../outside/secret.txt",
    "cd sub && if false; then ls; elif {} ..; then cat ../outside/secret.txt; fi",
    "cd sub && if false; then ls; else {} ..; fi; cat ../outside/secret.txt",
    "cd sub && while {} ..; do cat ../outside/secret.txt; break; done",
    "cd sub && until ! {} ..; do cat ../outside/secret.txt; break; done",
    "cd sub/deep && for x in 1 2; do {} ..; done; cat ../outside/secret.txt",
    "cd sub/deep && for x in 1 2 3; do cat ../outside/secret.txt; {} ..; done",
    "cd sub && case x in x) {} .. ;; esac; cat ../outside/secret.txt",
    "cd sub && { {} ..; } && cat ../outside/secret.txt",
    "cd sub && {\n{} ..\n}\ncat ../outside/secret.txt",
    "cd sub && ! {} .. || cat ../outside/secret.txt",
    "cd sub && ({} .. && cat ../outside/secret.txt)",
    "cd sub && echo $({} .. && cat ../outside/secret.txt)",
    "cd sub && true && {} .. && cat ../outside/secret.txt",
    "cd sub && false || {} .. && cat ../outside/secret.txt",
    "cd sub; true | {} ..; cat ../outside/secret.txt",
    "cd sub; {} .. & wait; cat ../outside/secret.txt",
    "cd sub; f() { {} ..; }; f; cat ../outside/secret.txt",
    "cd sub; f() { cat ../outside/secret.txt; }; {} ..; f",
    "cd sub; cat() { {} ..; command cat ../outside/secret.txt; }; cat",
    "cd sub; {} .. < /dev/null; cat ../outside/secret.txt",
    "cd sub; [ -d .. ] && {} ..; cat ../outside/secret.txt",
    "cd sub; {} .. >/dev/null 2>&1 && cat ../outside/secret.txt",
    "cd nowhere; {} ..; cat outside/secret.txt",
    "cd nowhere || {} ..; cat outside/secret.txt",
    "cd sub; {} ..; cat $PWD/../outside/secret.txt",
    "cd sub; x=..; {} $x; cat ../outside/secret.txt",
    'cd sub; for d in ..; do {} "$d" && cat ../outside/secret.txt; done',
    "cd sub; bash -c '{} .. && cat ../outside/secret.txt'",
    'cd sub; eval "{} .."; cat ../outside/secret.txt',
)

OTHERS = (
    "cd sub; pushd ..; cat ../outside/secret.txt",
    "pushd sub; popd; cd sub; pushd ..; cat ../outside/secret.txt",
    "cd() { :; }; cd sub; cat ../outside/secret.txt",
    "'cd'() { :; }; cd sub; cat ../outside/secret.txt",
    "function cd { :; }; cd sub; cat ../outside/secret.txt",
    "command() { :; }; command cd sub; cat ../outside/secret.txt",
    "alias cd=:\ncd sub\ncat ../outside/secret.txt",
    "cd sub && env -C .. cat ../outside/secret.txt",
    "cd sub && env --chdir=.. cat ../outside/secret.txt",
    "cd sub && env --chd .. cat ../outside/secret.txt",
    "cd sub && find .. -maxdepth 1 -type f -name a.txt -execdir cat ../outside/secret.txt \\;",
    "find . -type f -name x.py -execdir cat l.py \\;",
    "cd sub && git -C .. diff --no-index ../outside/secret.txt a.txt",
    "cd sub && git -C .. diff ../outside/secret.txt a.txt",
    "PWD=..; PWD=..; cat $PWD/outside/secret.txt",
    "cd sub; export PWD=../..; cat $PWD/outside/secret.txt",
    "read PWD < names.txt; cat $PWD",
    "cd sub; f() { cat ../outside/secret.txt; }; (cd ..; f)",
    "f() { cat ../outside/secret.txt; }; cd sub; f; cd ..; f",
    "shopt -s lastpipe; cd sub; true | cd ..; cat ../outside/secret.txt",
    "CDPATH=sub; cd deep; cat ../outside/secret.txt",
    "cd sub/deep; set -P; cd up; cat ../outside/secret.txt",
    "cd sub/deep/up; cat ../outside/secret.txt",
    "cd sub; trap 'cd ..' DEBUG; cat ../outside/secret.txt",
    "cd sub; OLDPWD=..; cd -; cat ../outside/secret.txt",
    "cd sub; cd ..; cd -; cd ~-; cat ../outside/secret.txt",
    "cd sub; exec 3<..; cat ../outside/secret.txt",
    "cd sub; HOME=..; cd; cat ../outside/secret.txt",
    "cd sub; . ../moves; cat ../outside/secret.txt",
)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    scratch = Scratch(tmp_path_factory.mktemp("moved") / "scratch")
    scratch.build()
    work = scratch.work
    for folder in ("outside", "sub/outside", "sub/deep/outside"):
        (work / folder).mkdir(parents=True)
        (work / folder / "secret.txt").write_text("inside\n")
    (work / "sub/deep/up").symlink_to("../..")
    (work / "moves").write_text("cd ..\n")
    return scratch


def lines(*, whole: bool) -> list[str]:
    step = 1 if whole else len(SPELLINGS)
    spelled = [
        frame.replace("{}", spelling)
        for number, frame in enumerate(FRAMES)
        for spelling in (SPELLINGS[:2] if not whole else ()) + SPELLINGS[(number * 7) % step :: step]
    ]
    return [*dict.fromkeys(spelled), *OTHERS]


def prints_from_outside(scratch: Scratch, line: str) -> bool:
    return any(SECRET.encode() in scratch.run(line, shell) for shell in SHELLS)


def is_silent_in(scratch: Scratch, line: str, *, mode: str = "full") -> bool:
    effect = CommandEffect(line, str(scratch.work))
    seen = read_effect_facts(effect, scratch.places)
    situation = Situation(
        "full" if mode == "full" else "ask",
        scratch.places,
        resolved=seen.resolved,
        leads=seen.leads,
        doubt=seen.doubt,
        config=seen.config,
        folders_exist=seen.folders_exist,
    )
    return isinstance(judge(effect, situation), Allow)


def test_no_spelling_of_cd_lets_a_line_read_outside(scratch: Scratch) -> None:
    tried = lines(whole=False)
    harmful = [line for line in tried if prints_from_outside(scratch, line)]

    assert len(harmful) > len(tried) / 3
    assert [line for line in harmful if is_silent_in(scratch, line)] == []


@pytest.mark.group("sweeps")
def test_no_spelling_in_any_frame_lets_a_line_read_outside(scratch: Scratch) -> None:
    silent = [line for line in lines(whole=True) if is_silent_in(scratch, line)]
    assert [line for line in silent if prints_from_outside(scratch, line)] == []


@pytest.mark.parametrize(
    "line",
    [
        "cd sub; ls; cd ..; ls",
        "cd sub && ls; cd ..; cat a.txt",
        "for d in sub src; do (cd $d && ls); done",
        "cd sub/deep; cat ../outside/secret.txt; cd ../..; ls",
        "cd sub && pwd && cd .. && pwd",
    ],
)
def test_moving_within_the_workspace_needs_no_approval(line: str, scratch: Scratch) -> None:
    assert is_silent_in(scratch, line, mode="ask")


def test_missing_folder_is_asked_about(scratch: Scratch) -> None:
    """`cd ..` would leave the workspace if the first `cd` failed."""
    for line in ("cd nowhere; ls; cd ..; ls", "cd a.txt; cd ..; ls"):
        assert not is_silent_in(scratch, line, mode="ask")
    effect = CommandEffect("cd sub; ls; cd ..; ls", str(scratch.work))
    assert isinstance(judge(effect, Situation("ask", scratch.places)), Ask)
