"""The calls of programs that confine, as text: also those that this machine cannot run."""

from __future__ import annotations

import shlex
from itertools import pairwise

import pytest

from agent_ls.environments.walls import Sandbox, Walls, confined, confined_argv, seatbelt_profile

pytestmark = pytest.mark.req("X4")

WALLS = Walls(
    writable=("/home/ada/shop", '/home/ada/a "b"'),
    temporary="/private/tmp/agent-ls-1",
    guarded=("/home/ada/shop/.git/hooks",),
    hidden=("/home/ada/.ssh",),
    hidden_files=("/home/ada/.netrc",),
)
BUBBLEWRAP = Sandbox("bubblewrap", "/usr/bin/bwrap", "/bin/bash", "/usr/bin/env")
SEATBELT = Sandbox("seatbelt", "/usr/bin/sandbox-exec", "/bin/bash")
COMMAND = "echo \"it's\" && rm 'a b'"


@pytest.mark.parametrize("sandbox", [BUBBLEWRAP, SEATBELT], ids=lambda it: it.kind)
def test_command_is_one_word_for_the_shell_within_and_the_shell_around_gives_way(sandbox: Sandbox) -> None:
    line = confined(COMMAND, sandbox, WALLS, "/home/ada/shop")
    argv = shlex.split(line)
    assert argv[0] == "exec" and argv[1:] == confined_argv(COMMAND, sandbox, WALLS, "/home/ada/shop")
    assert argv[-3:] == ["/bin/bash", "-c", COMMAND]


def test_what_is_hidden_or_guarded_is_laid_over_what_may_be_written() -> None:
    argv = confined_argv(COMMAND, BUBBLEWRAP, WALLS, "/home/ada/shop")
    opened = argv.index("/home/ada/shop")
    for place in (*WALLS.guarded, *WALLS.hidden, *WALLS.hidden_files):
        assert argv.index(place) > opened
    assert ("--tmpfs", "/home/ada/.ssh") in pairwise(argv)
    assert argv[argv.index("/home/ada/.netrc") - 1] == "/dev/null"


@pytest.mark.parametrize("network", [True, False])
def test_network_is_a_choice(network: bool) -> None:
    walls = Walls(("/w",), "/t", network=network)
    assert ("--unshare-net" in confined_argv("x", BUBBLEWRAP, walls, "/w")) != network
    assert ("(deny network*)" in seatbelt_profile(walls)) != network


def test_without_a_program_for_signals_nothing_else_is_lost() -> None:
    with_it = confined_argv("x", BUBBLEWRAP, WALLS, "/home/ada/shop")
    without = confined_argv(
        "x", Sandbox("bubblewrap", "/usr/bin/bwrap", "/bin/bash"), WALLS, "/home/ada/shop"
    )
    dropped = ["/usr/bin/env", "--ignore-signal=TERM", "--default-signal=TERM"]
    assert [word for word in with_it if word not in dropped] == without


def test_profile_of_macos() -> None:
    assert seatbelt_profile(WALLS).split("\n") == [
        "(version 1)",
        "(allow default)",
        "(deny file-write*)",
        '(allow file-write* (subpath "/home/ada/shop"))',
        '(allow file-write* (subpath "/home/ada/a \\"b\\""))',
        '(allow file-write* (subpath "/private/tmp/agent-ls-1"))',
        '(allow file-write* (literal "/dev/null"))',
        '(allow file-write* (literal "/dev/zero"))',
        '(allow file-write* (literal "/dev/stdout"))',
        '(allow file-write* (literal "/dev/stderr"))',
        '(allow file-write* (literal "/dev/tty"))',
        '(deny file-write* (subpath "/home/ada/shop/.git/hooks"))',
        '(deny file-read* file-write* (subpath "/home/ada/.ssh"))',
        '(deny file-read* file-write* (subpath "/home/ada/.netrc"))',
        "(deny network*)",
    ]


def test_profile_of_macos_sets_the_place_for_temporary_files() -> None:
    assert "TMPDIR=/private/tmp/agent-ls-1" in confined_argv("x", SEATBELT, WALLS, "/w")
