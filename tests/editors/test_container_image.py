"""The container image for use without an editor: built by `make image` on a small Debian, run by users other than
root.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_ls.cli.sample import copy_sample_project
from tests.editors import places, vscode_rig as vscode
from tests.release.builder import ROOT, release

RIG = Path(vscode.CACHE) / "image"
PODMAN = ["podman", "--root", f"{RIG}/storage", "--runroot", f"{RIG}/run", *places.PODMAN_FLAGS]
OFFLINE = ["--network", "none", *places.PODMAN_LIMITS]
AGENT, OTHER = 1000, 4321
LIMIT_S = 300


def why_not() -> str:
    """Return why the image cannot be built here; "" if it can."""
    if why := places.missing("podman", "runc", "make"):
        return why
    if not (ROOT / ".venv" / ".ready").exists() or not (ROOT / "agent_ls/panel/page/panel.js").exists():
        return "needs what `make image` builds from: run by make test-editors"
    return (
        "" if (RIG / "stamp").exists() else "needs a base image (make test-editors sets one up where it may)"
    )


pytestmark = [
    pytest.mark.skipif(bool(why_not()), reason=why_not()),
    pytest.mark.timeout(LIMIT_S + 60),
]


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command without the variables of a `make` that runs this test."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(
        words, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    """Build the image as users do, but from packages in a folder instead of a package index."""
    arguments = ["--layers=false", *OFFLINE, "--volume", f"{RIG}/wheels:/wheels:ro"]
    for name, value in (
        ("BASE", "localhost/agent-ls-base"),
        ("PIP_NO_INDEX", "1"),
        ("PIP_FIND_LINKS", "/wheels"),
    ):
        arguments += ["--build-arg", f"{name}={value}"]
    run("make", "image", f"ENGINE={shlex.join(PODMAN)}", f"BUILD_ARGS={shlex.join(arguments)}")
    yield "localhost/agent-ls"
    run(*PODMAN, "rmi", "--force", "localhost/agent-ls")


def in_container(image: str, *words: str, options: tuple[str, ...] = ()) -> str:
    return run(*PODMAN, "run", "--rm", *OFFLINE, *options, image, *words).stdout


def play(image: str, prompt: str, options: tuple[str, ...]) -> str:
    words = ("exec", "--provider", "walkthrough", "--trust", "--mode", "full", prompt)
    return in_container(image, *words, options=options)


def project(folder: Path, owner: int) -> Path:
    """Return the sample project in a folder of this user."""
    shop = copy_sample_project(folder / "shop")
    for path in (shop, *shop.rglob("*")):
        shutil.chown(path, owner, owner)
    return shop


@pytest.mark.req("H13")
def test_the_image_has_the_version_of_the_sources_and_the_demo_completes(image: str) -> None:
    assert in_container(image, "--version").strip() == f"agent-ls {release.current_version()}"
    assert "All tests pass." in in_container(image, "demo", "--headless")


@pytest.mark.req("H13")
@pytest.mark.parametrize("user", [AGENT, OTHER])
def test_exec_in_the_image_changes_files_of_a_mounted_project_as_the_container_user(
    image: str, tmp_path: Path, user: int
) -> None:
    shop = project(tmp_path, user)
    options = ("--volume", f"{shop}:/work", "--user", f"{user}:{user}")

    assert "All tests pass." in play(image, "Fix it.", options)

    assert "amount * (1 - DISCOUNT_RATE)" in (shop / "shop/cart.py").read_text()
    owners = {path.stat().st_uid for path in (shop, *shop.rglob("*"))}
    assert owners == {user}, "new files belong to the user, too"


@pytest.mark.req("H13")
@pytest.mark.parametrize("user", [AGENT, OTHER])
def test_doctor_reports_no_problem_in_the_image(image: str, user: int) -> None:
    said = in_container(image, "doctor", "--offline", options=("--user", f"{user}:{user}"))

    assert "✗" not in said and "ripgrep" in said and "git" in said


@pytest.mark.req("H13")
def test_sessions_of_the_image_are_kept_in_its_volume(image: str, tmp_path: Path) -> None:
    shop = project(tmp_path, AGENT)
    state = tmp_path / "state"
    state.mkdir()
    shutil.chown(state, AGENT, AGENT)
    options = ("--volume", f"{shop}:/work", "--volume", f"{state}:/var/lib/agent-ls")

    play(image, "Keep this session.", options)

    assert "Keep this session." in in_container(image, "sessions", options=options)
