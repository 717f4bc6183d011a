"""An environment whose commands read a file of this machine as their standard input."""

from __future__ import annotations

import shlex

from agent_ls.environments.base import CommandOptions, ExecResult, ExecutionEnvironment, OutputSink
from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment


class InputEnvironment(ForwardingEnvironment):
    """An environment with an input file. The file at `path` is opened outside of a sandbox that is put around
    this environment, because the sandbox may hide it.
    """

    def __init__(self, inner: ExecutionEnvironment, path: str) -> None:
        super().__init__(inner)
        self._path = path

    async def exec_command(
        self, command: str, options: CommandOptions, on_output: OutputSink | None = None
    ) -> ExecResult:
        return await self.inner.exec_command(self._reading(command), options, on_output)

    def _reading(self, command: str) -> str:
        if self.inner.platform() == "windows":
            return f'({command}) < "{self._path}"'
        return f"{{ {command}\n}} < {shlex.quote(self._path)}"
