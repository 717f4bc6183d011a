"""Real Emacs with Eglot or lsp-mode, set up as docs/other-editors.md says: a conversation played by keys."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from tests.editors.tmux import Terminal, find_tmux
from tests.support import recipes

ELPA = Path("/usr/share/emacs/site-lisp/elpa")

pytestmark = [
    pytest.mark.skipif(not find_tmux(), reason="needs tmux (make test-editors installs it where it may)"),
    pytest.mark.skipif(
        not shutil.which("emacs"), reason="needs Emacs (make test-editors installs it where it may)"
    ),
]

# A bare Emacs does not have Debian's packages on its load path.
PACKAGES = f"""
(dolist (folder (file-expand-wildcards "{ELPA}/*")) (add-to-list 'load-path folder))
(setq make-backup-files nil create-lockfiles nil auto-save-default nil inhibit-startup-screen t
      enable-local-variables :all vc-handled-backends '(Git))
(load "lsp-mode-autoloads" t)
"""


def emacs(tag: str, shop: Path, tmp_path: Path) -> Terminal:
    recipe = recipes.written_recipe(tag, tmp_path / "recipe.el")
    packages = tmp_path / "packages.el"
    packages.write_text(PACKAGES)
    env = {**recipes.environment(tmp_path / "bin"), "HOME": str(tmp_path)}
    command = ["emacs", "-nw", "-Q", "-l", str(packages), "-l", str(recipe), "chat.agent.md"]
    return Terminal(command, cwd=shop, environ=env, columns=120, rows=40)


class AtEnd:
    """A condition that is true if the end of the answer is on the screen. Every two seconds it moves the cursor there.

    A key at each check would delay the answer, because Emacs sends changes only after half a second without a key.
    The key is repeated, because a closing prompt may receive it instead.
    """

    EACH_S = 2.0

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.next = 0.0

    def __call__(self) -> bool:
        if time.monotonic() > self.next:
            self.terminal.keys("M->")
            self.next = time.monotonic() + self.EACH_S
        shot = self.terminal.screen()
        return "All tests pass." in shot and "## you" in shot


@pytest.mark.req("H8", "H11")
@pytest.mark.timeout(240)  # Emacs sends changes only when it is idle and has no open prompt
@pytest.mark.parametrize(("tag", "ready"), [("eglot", "[eglot:shop]"), ("lsp-mode", "LSP[agent-ls:")])
def test_a_conversation_completes_in_stock_emacs(tag: str, ready: str, tmp_path: Path) -> None:
    if not list(ELPA.glob(f"{tag}-*")):
        pytest.skip(f"needs the package elpa-{tag}")
    shop = recipes.shop(tmp_path / "shop")
    with emacs(tag, shop, tmp_path) as terminal:
        terminal.wait_screen(ready)
        terminal.wait_gone("/starting")
        terminal.keys(recipes.TASK, "C-x", "C-s")
        for count, what in enumerate(("modify", "run in", "modify", "run in")):
            terminal.wait_screen("Minibuf", f"agent-ls wants to {what}")
            # Eglot has inserted the first choice already, lsp-mode has not.
            terminal.keys(*(["C-a", "C-k"] if tag == "eglot" else []), "Allow o", "Tab", "Enter")
            terminal.wait_until(lambda: recipes.answers(tmp_path / "bin") > count, "the answer to be taken")  # noqa: B023
        terminal.wait_until(AtEnd(terminal), "the end of the answer on the screen")
    assert "amount * (1 - DISCOUNT_RATE)" in (shop / "shop/cart.py").read_text()
