"""requirements/*.lock: each package is pinned with hashes, and no file names a package index."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ("product.lock", "test.lock")
TOOL_LOCKS = ("docs.lock", "release.lock")  # each is for an environment of its own, without agent-ls
_PIN = re.compile(
    r"([a-z0-9-]+)(?:\[[a-z0-9,-]+\])?==\S+(?: ; [^\\]+?)? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)"
)


def pins(name: str) -> dict[str, int]:
    """Return the number of hashes of each package in a lock file."""
    return {
        found[1]: found[2].count("--hash")
        for found in _PIN.finditer((ROOT / "requirements" / name).read_text("utf-8"))
    }


def wanted(*extras: str) -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = [
        *project["dependencies"],
        *(it for extra in extras for it in project["optional-dependencies"][extra]),
    ]
    return {re.split(r"[^A-Za-z0-9_.-]", it, maxsplit=1)[0].lower().replace("_", "-") for it in named}


@pytest.mark.parametrize("name", (*LOCKS, *TOOL_LOCKS))
def test_every_line_of_a_lock_file_is_a_pin_with_hashes(name: str) -> None:
    text = (ROOT / "requirements" / name).read_text("utf-8")
    assert "".join(found[0] for found in _PIN.finditer(text)) == text


def test_lock_files_pin_all_project_dependencies_in_the_same_versions() -> None:
    product, test = pins("product.lock"), pins("test.lock")
    assert wanted() | {"setuptools"} <= product.keys()
    assert wanted("test") <= test.keys()
    texts = {name: (ROOT / "requirements" / name).read_text("utf-8") for name in LOCKS}
    versions = {
        name: set(re.findall(r"^[a-z0-9-]+(?:\[[a-z0-9,-]+\])?==\S+", text, re.MULTILINE))
        for name, text in texts.items()
    }
    assert versions["product.lock"] <= versions["test.lock"]


@pytest.mark.parametrize("name", TOOL_LOCKS)
def test_the_lock_file_of_a_tool_pins_all_dependencies_of_its_extra(name: str) -> None:
    extra = name.removesuffix(".lock")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = {
        re.split(r"[^A-Za-z0-9_.-]", it, maxsplit=1)[0] for it in project["optional-dependencies"][extra]
    }
    assert named <= pins(name).keys() and "setuptools" in pins(name)


def test_the_ci_environment_is_installed_with_hashes_and_without_unpinned_packages() -> None:
    script = (ROOT / ".ci" / "venv").read_text("utf-8")
    installs = [line for line in script.splitlines() if "/bin/pip" in line and " install " in line]
    assert len(installs) == 2
    assert "--require-hashes" in installs[0]
    assert "--no-deps" in installs[1] and "--no-build-isolation" in installs[1]
