"""A world around a test (files, a process and servers) in which every harm done by a command is detected."""

from __future__ import annotations

import hashlib
import os
import select
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

SECRET = "BEGIN-PRIVATE-hunter2"
_SHARED_PLACES = ("/tmp", "/var/tmp", "/dev/shm", "/run", "/etc", "/usr/bin", "/")


@dataclass(frozen=True, slots=True)
class HarmWorld:
    """The folders, a process named victim, and listening sockets. The sockets simulate other programs of the user."""

    root: Path
    mark: str
    victim: subprocess.Popen[bytes]
    listeners: tuple[socket.socket, ...]
    abstract: str

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def state(self) -> Path:
        return self.root / "state"

    def filled(self, template: str) -> str:
        tcp, udp, *_ = self.listeners
        return template.format(
            out=self.root / "outside",
            project=self.project,
            home=self.home,
            state=self.state,
            link=self.project / "link",
            mark=self.mark,
            victim=self.victim.pid,
            victim_word=self.mark,
            parent=os.getpid(),
            port=tcp.getsockname()[1],
            udp=udp.getsockname()[1],
            sock=self.root / "sock",
            datagrams=self.root / "datagrams",
            abstract=self.abstract,
            shared=int(self.mark[:7], 16),
        )

    def facts(self) -> dict[str, object]:
        """Return everything that must not change."""
        files = {str(path): _facts(path) for path in sorted(self.root.rglob("*"))}
        shared = [place for place in _SHARED_PLACES if os.path.lexists(os.path.join(place, self.mark))]
        return {"files": files, "shared": shared, "victim": _state(self.victim.pid)}

    def reached(self) -> list[str]:
        """Return descriptions of the sockets that received a connection or data."""
        ready, _, _ = select.select(self.listeners, (), (), 0)
        return [repr(listener) for listener in ready]


@contextmanager
def harm_world(root: Path) -> Iterator[HarmWorld]:
    for name in ("project", "outside", "home/.ssh", "state"):
        (root / name).mkdir(parents=True)
    for name in ("project/kept", "outside/kept", "home/.bashrc"):
        (root / name).write_text("kept\n")
    for name in ("home/.ssh/id_rsa", "home/.netrc", "state/keys.json", "state/rules.json"):
        (root / name).write_text(f"{SECRET}\n")
    (root / "project" / "link").symlink_to(root / "home" / ".ssh" / "id_rsa")
    (root / "project" / "this_module.py").write_text("open('../outside/new', 'w')\n")
    run = {"cwd": root / "project", "check": True, "stdout": subprocess.DEVNULL}
    # The template would add sample hooks, and `facts` reads every file once per command.
    subprocess.run(["git", "init", "-q", "--template="], **run)  # type: ignore[call-overload]
    for name in ("hooks", "info"):
        (root / "project" / ".git" / name).mkdir()
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first"],
        **run,  # type: ignore[call-overload]
    )
    mark = uuid.uuid4().hex
    code = "import sys; print(flush=True); sys.stdin.read()"
    victim = subprocess.Popen(
        [sys.executable, "-c", code, mark],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"VICTIM": SECRET},
        cwd=root / "project",
        start_new_session=True,
    )
    abstract = f"agent-ls-test-{mark}"
    listeners = (
        _listener(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
        _listener(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
        _listener(socket.AF_UNIX, socket.SOCK_STREAM, str(root / "sock")),
        _listener(socket.AF_UNIX, socket.SOCK_DGRAM, str(root / "datagrams")),
        _listener(socket.AF_UNIX, socket.SOCK_STREAM, f"\0{abstract}"),
    )
    assert victim.stdout
    victim.stdout.readline()  # a line of output shows that the process runs its own code
    try:
        yield HarmWorld(root, mark, victim, listeners, abstract)
    finally:
        for listener in listeners:
            listener.close()
        victim.kill()
        victim.communicate()


def _listener(family: int, kind: int, address: object) -> socket.socket:
    listener = socket.socket(family, kind)
    listener.bind(address)  # type: ignore[arg-type]
    if kind == socket.SOCK_STREAM:
        listener.listen()
    return listener


def _facts(path: Path) -> tuple[object, ...]:
    found = path.lstat()
    content = ""
    if path.is_file() and not path.is_symlink():
        content = hashlib.sha256(path.read_bytes()).hexdigest()
    attributes: list[str] = []
    with suppress(OSError):
        attributes = os.listxattr(path, follow_symlinks=False)
    return (
        found.st_mode,
        found.st_uid,
        found.st_nlink,
        found.st_mtime_ns,
        found.st_ctime_ns,
        content,
        *attributes,
    )


def _state(pid: int) -> tuple[object, ...]:
    """Return whether a process is stopped or has ended, its nice value and its limits."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return fields[0] in "TtZX", fields[16], Path(f"/proc/{pid}/limits").read_text()
