"""The command lines that start the remote end at each kind of place, run with stand-ins for kubectl, ssh and others."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from agent_ls.environments.base import CommandOptions
from agent_ls.environments.remote.boot import ONE_LINE
from agent_ls.environments.remote.environment import RemoteEnvironment
from agent_ls.environments.remote.facts import EndConfig
from agent_ls.environments.remote.host import RemoteHost
from agent_ls.environments.remote.launchers import SSH_OPTIONS, launch_argv
from agent_ls.environments.remote.place import Place, PlaceNameError, check_place, parse_place

pytestmark = pytest.mark.req("X3")

PYTHON = ("python3", "-I", "-c", ONE_LINE)
OVER_SSH = f"exec python3 -I -c '{ONE_LINE}'"
NO_NETWORK = ("--network", "none")


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (parse_place("ssh:me@build:/srv"), ("ssh", *SSH_OPTIONS, "--", "me@build", OVER_SSH)),
        (parse_place("ssh:me@[::1]:/srv"), ("ssh", *SSH_OPTIONS, "--", "me@::1", OVER_SSH)),
        (parse_place("docker:web:/app"), ("docker", "exec", "--interactive", "web", *PYTHON)),
        (
            Place("podman", "web", user="me"),
            ("podman", "exec", "--interactive", "--user", "me", "web", *PYTHON),
        ),
        (
            Place("podman", image="python:3.12", mounts=("/src",)),
            ("podman", "run", "--rm", "--interactive", *NO_NETWORK, "--volume", "/src:/src", "python:3.12", *PYTHON),
        ),
        (
            Place("nerdctl", image="python", network=True, user="1"),
            ("nerdctl", "run", "--rm", "--interactive", "--init", "--user", "1", "python", *PYTHON),
        ),
        (parse_place("kubectl:pod:/app"), ("kubectl", "exec", "--stdin", "pod", "--", *PYTHON)),
        (
            parse_place("kubectl:ns/pod:/app"),
            ("kubectl", "exec", "--stdin", "--namespace", "ns", "pod", "--", *PYTHON),
        ),
        (
            parse_place("kubectl:ns/pod/main"),
            ("kubectl", "exec", "--stdin", "--namespace", "ns", "pod", "--container", "main", "--", *PYTHON),
        ),
        (
            parse_place("devcontainer:/src/app"),
            ("devcontainer", "exec", "--workspace-folder", "/src/app", *PYTHON),
        ),
        (parse_place("command:/x:chroot '/a b' python3"), ("chroot", "/a b", "python3", "-I", "-c", ONE_LINE)),
    ],
    ids=lambda value: value.machine if isinstance(value, Place) else "",
)  # fmt: skip
def test_each_kind_of_place_starts_the_remote_end_with_its_command_line(
    place: Place, expected: tuple[str, ...]
) -> None:
    assert tuple(launch_argv(place)) == expected


@pytest.mark.parametrize(
    "name",
    [
        "ssh:me@build:/srv/app",
        "docker:web:/app",
        "kubectl:ns/pod/c:/x",
        "command:/a:env A=1 python3",
        "ssh:h:~/x",
    ],
)
def test_the_full_name_of_a_remote_folder_is_parsed_to_the_same_place(name: str) -> None:
    place = parse_place(name)
    assert parse_place(place.key(place.path)) == place


@pytest.mark.parametrize(
    "place",
    [
        Place("ssh", "-oProxyCommand=x"),
        Place("ssh", "a b"),
        Place("docker", ""),
        Place("docker", image="--privileged"),
        Place("ssh", "host", image="python"),
        Place("kubectl", "ns/-x"),
        Place("command"),
        Place("command", command=("python3",), path="/with:colon"),
        Place("ssh", "host", python="-c"),
        Place("ssh", "host", path="relative"),
        Place("devcontainer", "relative"),
    ],
)
def test_an_invalid_or_option_like_place_target_is_refused(place: Place) -> None:
    with pytest.raises(PlaceNameError):
        check_place(place)


STAND_INS = {
    "kubectl": (Place("kubectl", "ns/pod/main"), 'test "$1$2$3$4" = "exec--stdin--namespacens" || exit 90; shift 8'),
    "devcontainer": (Place("devcontainer", "/src"), 'test "$1$2$3" = "exec--workspace-folder/src" || exit 90; shift 3'),
    "nerdctl": (Place("nerdctl", "web"), 'test "$1$2$3" = "exec--interactiveweb" || exit 90; shift 3'),
    # ssh passes the words after the host to the user's shell
    "ssh": (Place("ssh", "host"), 'while [ "$1" != -- ]; do shift; done; shift 2; exec sh -c "$*"'),
    "docker": (Place("docker", image="python"), 'while [ "$1" != python ]; do shift; done; shift'),
}  # fmt: skip


@pytest.mark.skipif(os.name == "nt", reason="the programs are shell scripts")
@pytest.mark.parametrize("name", STAND_INS)
async def test_a_program_that_runs_a_given_command_can_be_a_place(name: str, tmp_path: Path) -> None:
    place, script = STAND_INS[name]
    program = tmp_path / "bin" / name
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\n{script}\nexec "$@"\n')
    program.chmod(0o755)
    environ = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
    host = RemoteHost(replace(place, python=sys.executable), lambda: environ)
    environment = RemoteEnvironment(host, lambda: EndConfig(str(tmp_path)))
    result = await environment.exec_command("pwd", CommandOptions())
    assert result.stdout == f"{tmp_path}\n"
    await environment.cleanup()
    await host.close()


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="chroot needs root on Linux")
async def test_a_chroot_can_be_a_place(tmp_path: Path) -> None:
    # /usr/sbin is not on PATH for every user
    chroot = shutil.which("chroot", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    words = shlex.split(f"unshare --pid --fork --mount-proc {chroot} / {sys.executable}")
    host = RemoteHost(Place("command", command=tuple(words)), lambda: os.environ)
    environment = RemoteEnvironment(host, lambda: EndConfig(str(tmp_path)))
    info = await environment.start_process("sleep 1000", CommandOptions())
    assert info.pid < 100, "it counts its own processes"
    await environment.cleanup()
    await host.close()
