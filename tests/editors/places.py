"""Real places on this machine: an OpenSSH server, a Podman and a Docker container. Each needs root and its program.

They start at the first use by a test, and end with the test process, also if it is killed.
"""

from __future__ import annotations

import atexit
import io
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import anyio
import pytest

from agent_ls.environments.remote.environment import RemoteEnvironment
from agent_ls.environments.remote.facts import EndConfig
from agent_ls.environments.remote.host import RemoteHost
from agent_ls.environments.remote.place import Place
from tests.support.environments import SHORT_GRACE_MS

LIMIT_S = 60
PYTHON = "/usr/bin/python3"
LIBRARY_MOUNTS = [word for folder in ("/lib", "/lib64") for word in ("-v", f"{folder}:{folder}:ro")]
"""Mounts for a dynamically linked busybox. They contain no Python."""
SYSTEM_MOUNTS = [word for folder in ("/usr", "/lib", "/lib64") for word in ("-v", f"{folder}:{folder}:ro")]


@dataclass(frozen=True)
class RealPlace:
    """A place, and the environment variables that its client program needs."""

    place: Place
    environ: Mapping[str, str]

    def host(self) -> RemoteHost:
        return RemoteHost(self.place, lambda: self.environ)

    def environment(self, folder: str, host: RemoteHost | None = None) -> RemoteEnvironment:
        return RemoteEnvironment(host or self.host(), lambda: EndConfig(folder, grace_ms=SHORT_GRACE_MS))


def missing(*programs: str) -> str:
    """Return why a place cannot be set up here; "" if it can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "needs root on Linux"
    absent = [
        name for name in programs if shutil.which(name, path=f"{os.defpath}:/usr/sbin:/usr/bin") is None
    ]
    if absent:
        return f"needs {', '.join(absent)} (make test-editors installs what it may)"
    found = subprocess.run(
        [PYTHON, "-c", "import sys; print(sys.version_info >= (3, 11))"], capture_output=True
    )
    return "" if found.stdout.strip() == b"True" else f"needs Python 3.11 as {PYTHON}"


@cache
def shared_host(make: Callable[[], RealPlace]) -> RemoteHost:
    """Return a connection that many tests share."""
    host = make().host()
    atexit.register(lambda: anyio.run(host.close))
    return host


PREFIX = "agent-ls-places-"


@cache
def folder() -> Path:
    """Create the folder of this process, and remove those of processes that were killed."""
    for other in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        if not Path("/proc", other.name.removeprefix(PREFIX).partition("-")[0]).exists():
            shutil.rmtree(other, ignore_errors=True)
    made = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
    atexit.register(shutil.rmtree, made, True)
    return made


def _script(name: str, text: str) -> Path:
    """Create a program in its own folder, which precedes the system's folders in PATH."""
    path = folder() / name / "bin" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path.parent


def _environ(bin_folder: Path) -> Mapping[str, str]:
    return {"PATH": f"{bin_folder}:{os.environ['PATH']}", "HOME": str(folder())}


def _run(argv: list[str], environ: Mapping[str, str] | None = None, data: bytes = b"") -> str:
    done = subprocess.run(argv, env=environ, input=data, capture_output=True, timeout=LIMIT_S, check=False)
    if done.returncode:
        raise AssertionError(f"{argv[:3]} failed: {done.stderr.decode()}")
    return done.stdout.decode()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _daemon(argv: list[str], log: Path) -> subprocess.Popen[bytes]:
    """Start a daemon that ends with this process."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", *argv], stdout=output, stderr=subprocess.STDOUT
        )
    atexit.register(_ended, process)
    return process


def _ended(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


# --- SSH ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SshServer:
    process: subprocess.Popen[bytes]
    folder: Path
    port: int


@cache
def ssh_server() -> SshServer:
    if why := missing("sshd", "ssh", "ssh-keygen"):
        pytest.skip(why)
    top = folder() / "sshd"
    top.mkdir()
    Path("/run/sshd").mkdir(exist_ok=True)
    for name in ("host", "user", "stranger"):
        _run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(top / name)])
    port = free_port()
    (top / "config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {top}/host\nAuthorizedKeysFile {top}/user.pub\n"
        f"StrictModes no\nUsePAM no\nPidFile none\nMaxStartups 100\nPrintMotd no\nSetEnv XDG_CACHE_HOME={top}/cache\n"
    )
    known = (top / "host.pub").read_text().rsplit(" ", 1)[0]
    (top / "known_hosts").write_text(f"[127.0.0.1]:{port} {known}\n")
    process = _daemon(["/usr/sbin/sshd", "-D", "-e", "-f", str(top / "config")], top / "log")
    deadline = time.monotonic() + LIMIT_S
    while b"listening" not in (top / "log").read_bytes():
        assert process.poll() is None and time.monotonic() < deadline, (top / "log").read_text()
        time.sleep(0.02)  # only sshd's log shows that it listens
    return SshServer(process, top, port)


def ssh_place(*, key: str = "user", known: bool = True, port: int = 0, name: str = "far-host") -> RealPlace:
    server = ssh_server()
    tag = f"ssh-{key}-{known}-{port}"
    config = server.folder / tag
    hosts = server.folder / "known_hosts" if known else Path(os.devnull)
    config.write_text(
        f"Host far-host\n  HostName 127.0.0.1\n  HostKeyAlgorithms ssh-ed25519\nHost *\n  User root\n"
        f"  Port {port or server.port}\n  IdentityFile {server.folder}/{key}\n  IdentitiesOnly yes\n"
        f"  UserKnownHostsFile {hosts}\n  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n"
    )
    bin_folder = folder() / tag / "bin"
    bin_folder.mkdir(parents=True, exist_ok=True)
    script = bin_folder / "ssh"
    script.write_text(f'#!/bin/sh\nexec /usr/bin/ssh -F {config} "$@"\n')
    script.chmod(0o755)
    return RealPlace(Place("ssh", name, python=PYTHON), _environ(bin_folder))


# --- containers -----------------------------------------------------------------------------------------------


def image() -> bytes:
    """Build a root file system in which the system's programs can be mounted."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name in ("bin", "tmp", "etc", "root", "usr", "lib", "lib64", "proc", "sys", "dev", "run", "var"):
            info = tarfile.TarInfo(name)
            info.type, info.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            archive.addfile(info)
        for name in ("bin/busybox", *(f"bin/{it}" for it in ("sh", "sleep", "cat", "ls"))):
            archive.add("/usr/bin/busybox", name)
        passwd = b"root:x:0:0:root:/root:/bin/sh\nother:x:1000:1000:other:/tmp:/bin/sh\n"
        info = tarfile.TarInfo("etc/passwd")
        info.size = len(passwd)
        archive.addfile(info, io.BytesIO(passwd))
    return made.getvalue()


def _container(environ: Mapping[str, str], program: str, limits: list[str], *more: str) -> str:
    """Start a container; return its name."""
    name = f"agent-ls-{os.getpid()}-{time.monotonic_ns()}"
    _run(
        [program, "run", "-d", "--name", name, "--network", "none", *limits, *more, "agent-ls-test",
         "/bin/sleep", "3600"], environ,
    )  # fmt: skip
    atexit.register(subprocess.run, [program, "rm", "-f", name], env=environ, capture_output=True)
    return name


PODMAN_FLAGS = ["--cgroup-manager=cgroupfs", "--runtime", "runc", "--events-backend=file"]
PODMAN_LIMITS = ["--ulimit", "nofile=1024:4096", "--ulimit", "nproc=4000:4000"]


@cache
def podman_environ() -> Mapping[str, str]:
    if why := missing("podman", "runc", "busybox"):
        pytest.skip(why)
    top = folder() / "podman-storage"
    top.mkdir()
    (top / "storage.conf").write_text(
        f'[storage]\ndriver = "vfs"\ngraphroot = "{top}/graph"\nrunroot = "{top}/run"\n'
    )
    flags = " ".join(PODMAN_FLAGS)
    environ = _environ(
        _script("podman", f'CONTAINERS_STORAGE_CONF={top}/storage.conf exec /usr/bin/podman {flags} "$@"')
    )
    _run(["podman", "import", "-", "agent-ls-test"], environ, image())
    return environ


@cache
def podman_place(*, python: bool = True) -> RealPlace:
    environ = podman_environ()
    mounts = [*SYSTEM_MOUNTS, "-v", f"{tempfile.gettempdir()}:{tempfile.gettempdir()}"]
    mounts = mounts if python else LIBRARY_MOUNTS
    name = _container(environ, "podman", PODMAN_LIMITS, *mounts)
    return RealPlace(Place("podman", name, python=PYTHON if python else "python3"), environ)


@cache
def docker_environ() -> Mapping[str, str]:
    if why := missing("dockerd", "docker", "busybox"):
        pytest.skip(why)
    top = folder() / "docker-daemon"
    top.mkdir()
    config = top / "daemon.json"
    config.write_text(
        f'{{"data-root": "{top}/data", "exec-root": "{top}/exec", "pidfile": "{top}/pid", "bridge": "none",'
        f' "hosts": ["unix://{top}/sock"], "storage-driver": "vfs", "iptables": false}}'
    )
    process = _daemon(["/usr/sbin/dockerd", "--config-file", str(config)], top / "log")
    environ = {**_environ(folder()), "DOCKER_HOST": f"unix://{top}/sock"}
    deadline = time.monotonic() + LIMIT_S
    while b"API listen on" not in (top / "log").read_bytes():
        if process.poll() is not None or time.monotonic() > deadline:
            pytest.skip(f"dockerd does not start here: {(top / 'log').read_text()[-300:]}")
        time.sleep(0.05)  # only dockerd's log shows that it listens
    _run(["docker", "import", "-", "agent-ls-test"], environ, image())
    return environ


@cache
def docker_place(*, python: bool = True) -> RealPlace:
    environ = docker_environ()
    mounts = [*SYSTEM_MOUNTS, "-v", f"{tempfile.gettempdir()}:{tempfile.gettempdir()}"]
    mounts = mounts if python else LIBRARY_MOUNTS
    name = _container(environ, "docker", [], *mounts)
    return RealPlace(Place("docker", name, python=PYTHON if python else "python3"), environ)


@cache
def kubectl_place() -> RealPlace:
    """Return a place with a program named kubectl that runs the command in a Podman container, because there
    is no cluster.
    """
    inner = podman_place()
    bin_folder = _script(
        "kubectl",
        'test "$1 $2 $3 $4 $6" = "exec --stdin --namespace tests --container" || exit 90\n'
        'pod=$5; test "$7 $8" = "main --" || exit 91; shift 8\n'
        f'PATH="{inner.environ["PATH"]}" exec podman exec -i "$pod" "$@"',
    )
    return RealPlace(
        Place("kubectl", f"tests/{inner.place.target}/main", python=PYTHON), _environ(bin_folder)
    )
