"""An environment whose commands read a file of this machine as their standard input."""

from __future__ import annotations

import shlex

from agent_ls.environments.base import CommandOptions, ExecResult, ExecutionEnvironment, OutputSink
from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment


class InputEnvironment(ForwardingEnvironment):
    """An environment whose commands read the file `path` as standard input.

    Put a sandbox wrapper around this environment: the file is then opened outside of the sandbox, which may
    hide the file.
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
