"""The command lines that start the remote end. Pure.

Each command line runs the usual client program: `ssh`, `docker`, `kubectl` and similar. So the user's
configuration applies: ssh_config, SSH agents, jump hosts, contexts of docker and kubectl. The client program
gets no terminal, because a terminal would change bytes of the messages.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

from agent_ls.environments.remote.boot import ONE_LINE
from agent_ls.environments.remote.place import Place

SSH_OPTIONS = (
    "-T",  # no terminal
    "-a",  # do not forward the SSH agent with the user's keys
    "-x",
    "-o", "BatchMode=yes",  # a question for a password could not be answered
    "-o", "ConnectTimeout=30",
    "-o", "ServerAliveInterval=15",
    "-o", "ServerAliveCountMax=3",
    "-o", "ClearAllForwardings=yes",
)  # fmt: skip


def launch_argv(place: Place) -> Sequence[str]:
    """Return the command line that starts Python on the machine or in the container that `place` names."""
    python = (place.python, "-I", "-c", ONE_LINE)
    match place.kind:
        case "ssh":
            host = place.target.replace("[", "").replace("]", "")
            return ("ssh", *SSH_OPTIONS, "--", host, shlex.join(("exec", *python)))
        case "docker" | "podman" | "nerdctl":
            user = ("--user", place.user) if place.user else ()
            if place.image:
                return (place.kind, "run", *_run_options(place), *user, place.image, *python)
            return (place.kind, "exec", "--interactive", *user, place.target, *python)
        case "kubectl":
            namespace, pod, container = _pod(place.target)
            return (
                "kubectl", "exec", "--stdin", *(("--namespace", namespace) if namespace else ()), pod,
                *(("--container", container) if container else ()), "--", *python,
            )  # fmt: skip
        case "devcontainer":
            return ("devcontainer", "exec", "--workspace-folder", place.target, *python)
        case "command":
            return (*place.command, *python[1:])


def _run_options(place: Place) -> Sequence[str]:
    mounts = [word for folder in place.mounts for word in ("--volume", f"{folder}:{folder}")]
    network = () if place.network else ("--network", "none")
    owner: Sequence[str] = ()
    if not place.user and place.kind == "docker" and hasattr(os, "getuid"):
        # the container's user is this user, so that new files do not belong to root
        owner = ("--user", f"{os.getuid()}:{os.getgid()}")
    # `podman --init` needs a program that is seldom installed. Without --init, the remote end reaps orphans
    # itself.
    init = () if place.kind == "podman" else ("--init",)
    return ("--rm", "--interactive", *init, *network, *owner, *mounts)


def _pod(target: str) -> tuple[str, str, str]:
    """Split POD, NAMESPACE/POD or NAMESPACE/POD/CONTAINER.

    Return namespace, pod and container; "" for a missing part.
    """
    parts = target.split("/")
    if len(parts) == 1:
        return "", parts[0], ""
    return parts[0], parts[1], parts[2] if len(parts) > 2 else ""
