"""Error messages for connections that could not be made. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agent_ls.environments.errors import EnvironmentLostError
from agent_ls.environments.remote.place import Place
from agent_ls.patterns import regex

NOISE_CHARS = 300
_NO_PYTHON = "Install Python 3.11 or newer on that machine, or give its path in the setting place.python."

# Each row: a pattern for the client program's output, the problem, and the remedy. {target}, {machine}, {kind}
# are filled in.
_KNOWN: tuple[tuple[str, str, str], ...] = (
    (
        r"Could not resolve hostname|Name or service not known",
        "the host {target} is unknown",
        "Check the name of the host, or add the host to ~/.ssh/config.",
    ),
    (
        r"REMOTE HOST IDENTIFICATION HAS CHANGED",
        "its host key differs from the host key that you accepted before",
        "Ask the owner of the machine why, and only then remove the old key with `ssh-keygen -R {target}`.",
    ),
    (
        r"Host key verification failed",
        "its host key is unknown on this machine",
        "Run `ssh {target}` once in a terminal, and compare the key that it prints.",
    ),
    (
        r"Permission denied \(|Too many authentication failures",
        "your key was refused",
        "Check that `ssh -o BatchMode=yes {target} true` works: agent-ls cannot type a password.",
    ),
    (
        r"Connection refused",
        "the connection was refused",
        "Check that the SSH server of that machine is running, and check the port in ~/.ssh/config.",
    ),
    (
        r"Connection timed out|Operation timed out|No route to host|Network is unreachable",
        "the machine does not answer",
        "Check the network, and whether the machine needs a VPN.",
    ),
    (
        r"No such container|no container with name or ID|no such container",
        "there is no container {target}",
        "List the containers with `{kind} ps`, or start the container.",
    ),
    (
        r"is not running|container state improper|is paused",
        "the container {target} is not running",
        "Start the container with `{kind} start {target}`.",
    ),
    (
        r"Cannot connect to the Docker daemon|permission denied while trying to connect to the Docker",
        "the Docker daemon cannot be reached",
        "Start the Docker daemon, or check `docker context ls`.",
    ),
    (
        r'pods? "[^"]*" not found|namespaces? "[^"]*" not found|container [^ ]* not found in pod|container not found',
        "there is no such pod or container",
        "List the pods with `kubectl get pods`.",
    ),
    (
        r"connection to the server .* was refused|You must be logged in to the server|Unauthorized",
        "the cluster cannot be reached, or rejected your credentials",
        "Check `kubectl auth can-i create pods/exec`.",
    ),
    (
        r"[Dd]ev container .*not found|No dev container",
        "its dev container is not running",
        "Start the dev container with `devcontainer up --workspace-folder {target}`.",
    ),
    (
        r"No space left on device|Disk quota exceeded",
        "its disk is full",
        "Free some disk space on that machine (agent-ls needs 1 MB below ~/.cache or in the temporary folder).",
    ),
)
_NO_PROGRAM = regex(
    r"(not found|No such file or directory|cannot execute|executable file not found|can't find)",
    re.IGNORECASE,
)


def missing_program(place: Place, program: str) -> EnvironmentLostError:
    return EnvironmentLostError(
        f"{place.machine} cannot be reached: the program {program} is not installed on this machine.",
        f"Install {program}, or use another kind of place (ssh, docker, podman, kubectl, devcontainer or command).",
    )


def start_failure(place: Place, exit_code: int | None, errors: str, noise: str) -> EnvironmentLostError:
    """Return the error for a connection that ended before the remote end was ready."""
    said = f"{errors}\n{noise}"
    names = {"target": place.target, "machine": place.machine, "kind": place.kind}
    for pattern, happened, hint in _KNOWN:
        if re.search(pattern, said):
            return _unreachable(place, happened.format(**names), hint.format(**names))
    if exit_code in (126, 127) or (_NO_PROGRAM.search(said) and "python" in said.lower()):
        return _unreachable(place, f"{place.python} was not found on that machine", _NO_PYTHON)
    last = _last_lines(errors) or _last_lines(noise)
    quoted = f": {last}" if last else ""
    code = "" if exit_code is None else f" with exit code {exit_code}"
    return _unreachable(
        place,
        f"the connection ended{code} before agent-ls could start on that machine{quoted}",
        "Try the same connection in a terminal.",
    )


def reported_problem(place: Place, raw: Mapping[str, Any]) -> EnvironmentLostError:
    """Return the error for a problem that the program at the remote end has reported."""
    match raw.get("problem"):
        case "version":
            happened = (
                f"{_word(raw, 'program')} is Python {_word(raw, 'version')} on that machine, which is too old"
            )
            return _unreachable(place, happened, _NO_PYTHON)
        case "system":
            happened = f"its operating system ({_word(raw, 'version')}) is not supported"
            return _unreachable(place, happened, "Use a place with Linux or macOS, such as WSL.")
        case "write":
            if re.search("No space left|quota", str(raw.get("reason"))):
                return start_failure(place, None, str(raw.get("reason")), "")
            happened = f"the machine has no folder that agent-ls can write to ({_word(raw, 'reason')})"
            return _unreachable(
                place, happened, "Make ~/.cache or the temporary folder of that machine writable."
            )
        case "digest":
            return _unreachable(
                place,
                "the connection changes the data that is sent",
                "Check whether a terminal or a proxy changes the data of the connection.",
            )
        case _:
            happened = f"agent-ls cannot run on that machine ({_word(raw, 'reason')})"
            return _unreachable(
                place, happened, "You can choose another Python with the setting place.python."
            )


def silent_start(place: Place, seconds: float, noise: str) -> EnvironmentLostError:
    quoted = f", and printed: {_last_lines(noise)}" if noise.strip() else ""
    return _unreachable(
        place,
        f"nothing answered within {seconds:.0f} s{quoted}",
        "Check that a command such as `true` runs on that machine without a prompt.",
    )


def _unreachable(place: Place, happened: str, hint: str) -> EnvironmentLostError:
    return EnvironmentLostError(f"{place.machine} cannot be used: {happened}.", hint)


def _word(raw: Mapping[str, Any], name: str) -> str:
    """Return a field of the remote end's report as one printable line."""
    return _last_lines(str(raw.get(name, "?")))


def _last_lines(text: str) -> str:
    lines = ["".join(char for char in line if char.isprintable()).strip() for line in text.splitlines()]
    return " / ".join(list(filter(None, lines))[-2:])[:NOISE_CHARS]
