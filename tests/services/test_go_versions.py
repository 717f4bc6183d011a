"""A go.mod that selects a released go by its number decides nothing; one that names another program does."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.services.permissions.go_versions import names_plain_go

pytestmark = pytest.mark.req("X7")


@pytest.mark.parametrize(
    ("text", "is_plain"),
    [
        ("module a\n\ngo 1.22\n", True),
        ("module a\n\ngo 1.22.1 // the oldest\n\ntoolchain go1.23.0\n", True),
        ("go 1.23rc1\r\n", True),
        ("module a\n", False),
        ("go 1.22\ntoolchain go1.22-mine\n", False),
        ("go 1.22\ntoolchain ./go\n", False),
        ("go 1.22\ntoolchain local\n", False),
        ("go 1.22\n  toolchain\tgo1.22-x\n", False),
        ("go 1.22\ngo (\n1.22-x\n)\n", False),
        ("go 1.22\ngodebug default=go1.21\n", False),
        ("go 1.22\rtoolchain go1.22-x\n", False),
    ],
)
@pytest.mark.parametrize("name", ["go.mod", "go.work"])
def test_only_the_number_of_a_release_selects_no_other_program(
    name: str, text: str, is_plain: bool, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(text.encode())

    assert names_plain_go(str(path)) == is_plain


def test_a_file_with_another_name_or_no_text_is_not_plain(tmp_path: Path) -> None:
    (tmp_path / "x.mod").write_text("go 1.22\n")
    (tmp_path / "go.mod").write_bytes(b"go 1.22\xff\n")
    (tmp_path / "go.work").mkdir()

    assert not any(names_plain_go(str(tmp_path / name)) for name in ("x.mod", "go.mod", "go.work", "none"))
