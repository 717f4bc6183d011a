"""Run the command line and note what it reads: python -m tests.headless.counting_exec FILE ARGUMENT...

FILE receives one line for each file or folder that is opened (`read`), and for each module that is imported (its name).
It is written at once, because the command line ends its process without the interpreter's clean-up.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from agent_ls.cli.main import main

READING = ("open", "os.scandir", "os.listdir")


def note_into(path: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "import":
            os.write(file, f"{arguments[0]}\n".encode())
        elif event in READING and not str(arguments[0]).endswith((".py", ".pyc", ".so", "__pycache__")):
            os.write(file, f"read {arguments[0]}\n".encode("utf-8", "replace"))

    sys.addaudithook(hook)


if __name__ == "__main__":
    note_into(sys.argv.pop(1))
    sys.exit(main())
