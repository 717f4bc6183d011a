"""Import and build in a process what its forks had to import and build, so that later forks need not."""

from __future__ import annotations

import gc
import importlib
import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Self

from agent_ls import lean_imports

OWN = "agent_ls."
CODEC = "agent_ls.loop.events.codec"


@dataclass(frozen=True, slots=True)
class Warmth:
    """Our modules that were imported, the numbers of methods that were compiled (lean_imports.py), and the kinds of
    events whose validators were built.
    """

    modules: Sequence[str] = ()
    methods: Sequence[int] = ()
    kinds: Sequence[str] = ()

    @classmethod
    def now(cls) -> Self:
        """Return what this process has imported and built."""
        codec = sys.modules.get(CODEC)
        return cls(
            [name for name in sys.modules if name.startswith(OWN)],
            lean_imports.built(),
            codec.built_kinds() if codec else (),
        )

    def more_than(self, other: Self) -> Warmth:
        modules, methods, kinds = {*other.modules}, {*other.methods}, {*other.kinds}
        return Warmth(
            [name for name in self.modules if name not in modules],
            [number for number in self.methods if number not in methods],
            [kind for kind in self.kinds if kind not in kinds],
        )

    def encode(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Return the value that `encode` has encoded.

        Raises:
            ValueError: the data is damaged.
        """
        try:
            return cls(**json.loads(data))
        except TypeError as error:
            raise ValueError(str(error)) from error

    def take_over(self) -> None:
        """Import and build all of it in this process."""
        for name in self.modules:
            if name.startswith(OWN) and name not in sys.modules:
                with suppress(ImportError):
                    importlib.import_module(name)
        lean_imports.build(self.methods)
        if self.kinds:
            importlib.import_module(CODEC).build(self.kinds)
        gc.freeze()  # otherwise the first collection of each attempt copies the memory of all this
