"""Add the Neovim plugin to the wheel; all else of the package is in pyproject.toml."""

from __future__ import annotations

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

PLUGIN = Path("editors/nvim")
PARTS = ("doc", "lua", "plugin")
INSTALLED = Path("agent_ls/editors/nvim")


class BuildWithPlugin(build_py):
    """Copies the plugin into the package, where `agent-ls nvim-path` finds it; editable installs use the checkout."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        for part in PARTS:
            for file in sorted(path for path in (PLUGIN / part).rglob("*") if path.is_file()):
                target = Path(self.build_lib, INSTALLED, file.relative_to(PLUGIN))
                target.parent.mkdir(parents=True, exist_ok=True)
                self.copy_file(str(file), str(target))


setup(cmdclass={"build_py": BuildWithPlugin})
