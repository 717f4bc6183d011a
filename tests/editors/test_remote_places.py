"""The environment contract at real places: OpenSSH, Docker, Podman, and kubectl's command line over Podman."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from agent_ls.environments.remote.environment import RemoteEnvironment
from agent_ls.testing.environment import *  # noqa: F403  # its tests and fixtures
from agent_ls.testing.environment_factory import EnvironmentFactory, write_files
from tests.editors import places

pytestmark = [pytest.mark.req("X1", "X3")]


def at(
    make_place: Callable[[], places.RealPlace],
) -> Callable[[Path, Mapping[str, str | bytes]], RemoteEnvironment]:
    def make(folder: Path, files: Mapping[str, str | bytes]) -> RemoteEnvironment:
        place = make_place()
        write_files(folder, files)
        return place.environment(str(folder), places.shared_host(make_place))

    return make


FACTORIES = [
    EnvironmentFactory("ssh", at(places.ssh_place)),
    EnvironmentFactory("docker", at(places.docker_place)),
    EnvironmentFactory("podman", at(places.podman_place)),
    EnvironmentFactory("kubectl", at(places.kubectl_place)),
]
