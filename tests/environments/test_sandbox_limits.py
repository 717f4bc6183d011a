"""The command lines and profiles of the sandbox programs as text, so that those of other systems are tested too."""

from __future__ import annotations

import shlex
from itertools import pairwise

import pytest

from agent_ls.environments.sandbox import (
    Sandbox,
    SandboxLimits,
    confine_command,
    confined_argv,
    seatbelt_profile,
)

pytestmark = pytest.mark.req("X4")

LIMITS = SandboxLimits(
    writable=("/home/ada/shop", '/home/ada/a "b"'),
    temporary="/private/tmp/agent-ls-1",
    guarded=("/home/ada/shop/.git/hooks",),
    hidden=("/home/ada/.ssh",),
    hidden_files=("/home/ada/.netrc",),
)
BUBBLEWRAP = Sandbox("bubblewrap", "/bin/bash", "/usr/bin/bwrap", "/usr/bin/env")
SEATBELT = Sandbox("seatbelt", "/bin/bash", "/usr/bin/sandbox-exec")
COMMAND = "echo \"it's\" && rm 'a b'"


@pytest.mark.parametrize("sandbox", [BUBBLEWRAP, SEATBELT], ids=lambda it: it.kind)
def test_the_sandboxed_command_is_one_argument_and_exec_replaces_the_outer_shell(
    sandbox: Sandbox,
) -> None:
    line = confine_command(COMMAND, sandbox, LIMITS, "/home/ada/shop")
    assert line.startswith("trap '' TERM; ") == (sandbox is BUBBLEWRAP)
    argv = shlex.split(line.removeprefix("trap '' TERM; "))
    assert argv[0] == "exec" and argv[1:] == confined_argv(COMMAND, sandbox, LIMITS, "/home/ada/shop")
    assert argv[-3:] == ["/bin/bash", "-c", COMMAND]


def test_bubblewrap_mounts_hidden_and_guarded_paths_after_writable_paths() -> None:
    argv = confined_argv(COMMAND, BUBBLEWRAP, LIMITS, "/home/ada/shop")
    opened = argv.index("/home/ada/shop")
    for place in (*LIMITS.guarded, *LIMITS.hidden, *LIMITS.hidden_files):
        assert argv.index(place) > opened
    assert ("--tmpfs", "/home/ada/.ssh") in pairwise(argv)
    assert argv[argv.index("/home/ada/.netrc") - 1] == "/dev/null"


@pytest.mark.parametrize("network", [True, False])
def test_network_access_is_optional(network: bool) -> None:
    limits = SandboxLimits(("/w",), "/t", network=network)
    assert ("--unshare-net" in confined_argv("x", BUBBLEWRAP, limits, "/w")) != network
    assert ("(deny network*)" in seatbelt_profile(limits)) != network


def test_the_bubblewrap_command_lacks_only_the_signal_reset_if_that_program_is_missing() -> None:
    with_it = confined_argv("x", BUBBLEWRAP, LIMITS, "/home/ada/shop")
    without = confined_argv(
        "x", Sandbox("bubblewrap", "/bin/bash", "/usr/bin/bwrap"), LIMITS, "/home/ada/shop"
    )
    dropped = ["/usr/bin/env", "--default-signal=TERM"]
    assert [word for word in with_it if word not in dropped] == without


def test_seatbelt_denies_guarded_names_that_do_not_exist() -> None:
    profile = seatbelt_profile(SandboxLimits(("/w",), "/t", absent=("/w/.vscode",)))
    assert '(deny file-write* (subpath "/w/.vscode"))' in profile


def test_the_seatbelt_profile_allows_writable_paths_and_denies_guarded_and_hidden_paths() -> None:
    assert seatbelt_profile(LIMITS).split("\n") == [
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


def test_the_macos_profile_sets_the_temporary_folder() -> None:
    assert "TMPDIR=/private/tmp/agent-ls-1" in confined_argv("x", SEATBELT, LIMITS, "/w")
