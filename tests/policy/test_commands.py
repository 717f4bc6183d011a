from __future__ import annotations

import os
import re
import tomllib

import pytest

from agent_ls.environments.effects import CommandEffect
from agent_ls.policy.decide import judge
from agent_ls.policy.places import Places
from agent_ls.policy.situation import Allow, Ask, Mode, Refuse, Situation
from tests.docs.pages import ROOT
from tests.policy.corpus import DISGUISES, Verdict, corpus, dangerous

SHARE = 18
"""One of this many commands is tried with a disguise, unless the sweep is run whole."""
PLACES = Places(("/w",), "/home/u")
EXPECTED: dict[Verdict, dict[Mode, type]] = {
    "look": {"plan": Refuse, "ask": Allow, "edits": Allow, "full": Allow},
    "work": {"plan": Refuse, "ask": Ask, "edits": Ask, "full": Allow},
    "ask": {"plan": Refuse, "ask": Ask, "edits": Ask, "full": Ask},
    "refuse": {"plan": Refuse, "ask": Refuse, "edits": Refuse, "full": Refuse},
}


def judged(command: str, mode: Mode) -> object:
    return judge(CommandEffect(command, "/w"), Situation(mode, PLACES))


def test_corpus_is_large_and_names_each_command_once() -> None:
    texts = [text for text, _ in corpus()]
    assert len(texts) > 800
    assert sorted(texts) == sorted(set(texts))


@pytest.mark.req("X7", "X8", "H7")
@pytest.mark.parametrize("verdict", EXPECTED)
def test_commands_of_the_corpus_get_their_verdict_in_every_mode(verdict: Verdict) -> None:
    commands = [text for text, expected in corpus() if expected == verdict]
    assert len(commands) > 50
    wrong = [
        (command, mode, found)
        for command in commands
        for mode, kind in EXPECTED[verdict].items()
        if type(found := judged(command, mode)) is not kind
    ]
    assert not wrong


@pytest.mark.sweep
@pytest.mark.req("X7", "X8")
@pytest.mark.parametrize("disguise", list(DISGUISES))
def test_dangerous_command_in_a_disguise_never_runs_unasked(disguise: str) -> None:
    commands = dangerous()
    assert len(commands) > 150
    # Each disguise is tried with a different share of the commands.
    if os.environ.get("AGENT_LS_SWEEPS") != "whole":
        commands = commands[list(DISGUISES).index(disguise) % SHARE :: SHARE]
    silent = [
        (mode, text)
        for command in commands
        for text in (DISGUISES[disguise](command),)
        for mode in ("ask", "edits", "full")
        if isinstance(judged(text, mode), Allow)
    ]
    assert not silent


@pytest.mark.req("X7")
@pytest.mark.parametrize("disguise", ["name in single quotes", "a backslash before", "by its folder", "capitals",
                                      "after and", "in a subshell", "for bash", "by env", "by eval", "by sudo",
                                      "name in a variable", "in a substitution", "in a function"])  # fmt: skip
def test_disguised_command_that_wipes_root_or_home_is_refused(disguise: str) -> None:
    for command in ("rm -rf /", "rm -rf ~", "rm -rf /etc", "chmod -R 777 /"):
        text = DISGUISES[disguise](command)
        assert isinstance(judged(text, "full"), Refuse), text


def test_every_entry_of_the_table_says_which_manual_its_options_were_checked_against() -> None:
    table = tomllib.loads((ROOT / "agent_ls/policy/shell/read_only.toml").read_text(encoding="utf-8"))
    rows = {**table["commands"], **table["subcommands"]}

    assert len(rows) > 100
    assert [name for name, row in rows.items() if not re.search(r"\d", row.get("manual", ""))] == []


@pytest.mark.parametrize("command", ["git grep -Oless P9", "git grep --open-files-in-pager=vi x"])
def test_the_reason_for_asking_about_a_pager_does_not_speak_of_lost_work(command: str) -> None:
    found = judged(command, "full")
    assert isinstance(found, Ask)
    assert "program" in found.reason and "work" not in found.reason
