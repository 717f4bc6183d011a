"""Names of places where a session's tools can act: `ssh:HOST:/path`, `docker:NAME:/path` and the like. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from agent_ls.patterns import regex

PlaceKind: TypeAlias = Literal["ssh", "docker", "podman", "nerdctl", "kubectl", "devcontainer", "command"]
KINDS: tuple[PlaceKind, ...] = get_args(PlaceKind)
EXAMPLES = (
    "write the place as ssh:HOST:/path, docker:NAME:/path, podman:NAME:/path, kubectl:NAMESPACE/POD:/path, "
    "devcontainer:/folder, or command:/path:PROGRAM …"
)
_NAME = regex(
    r"[^\s\x00-\x1f\x7f:-][^\s\x00-\x1f\x7f:]*|\[[0-9A-Fa-f:.%]+\]|[^\s@:-][^\s@:]*@\[[0-9A-Fa-f:.%]+\]"
)
_PLACE = regex(rf"(?:{'|'.join(KINDS)}):")


class PlaceNameError(ValueError):
    """The text is not a valid name of a place. The message describes the valid forms."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place. `target` is the host, the container, `[NAMESPACE/]POD[/CONTAINER]`, or the local folder of a
    dev container. `path` is the folder at the place, absolute or below `~`; "" is the home folder.

    - `command`: for the kind "command": the words that start Python at the place.
    - `user`: the user in a container. `image`: a container is started from this image (and removed at the
      end), instead of using the container named `target`. `mounts`: folders of this machine that are mounted
      in the new container, with the same paths.
    - `python`: the program to start at the place.
    - `map`: folders of this machine that mirror folders of the place, for sessions of editors.
    """

    kind: PlaceKind
    target: str = ""
    path: str = ""
    command: tuple[str, ...] = ()
    user: str = ""
    image: str = ""
    mounts: tuple[str, ...] = ()
    network: bool = False
    python: str = "python3"
    map: Mapping[str, str] = field(default_factory=dict)

    @property
    def machine(self) -> str:
        """The name of the place without the path, for display in messages."""
        if self.kind == "command":
            return f"command:{shlex.join(self.command)}"
        return f"{self.kind}:{self.target or self.image}"

    def key(self, path: str) -> str:
        """Return the name under which trust, rules and sessions of the folder `path` at this place are stored."""
        if self.kind == "command":
            return f"command:{path}:{shlex.join(self.command)}"
        return f"{self.machine}:{path}"


def is_place_name(text: str) -> bool:
    """Return whether `text` names a place rather than a folder of this machine."""
    return _PLACE.match(text) is not None


def path_of(workspace: str) -> str:
    """Return the path of a workspace on its own machine. `workspace` is a local path or a place's name."""
    return parse_place(workspace).path if is_place_name(workspace) else workspace


def parse_place(text: str) -> Place:
    """Parse the name of a place.

    Raises:
        PlaceNameError: `text` is not a valid name of a place.
    """
    kind, colon, rest = text.partition(":")
    if not colon or kind not in KINDS:
        raise PlaceNameError(f"{text!r} does not name a place: {EXAMPLES}")
    if kind == "command":
        return _command_place(text, rest)
    target, path = _split_target(rest)
    if kind == "devcontainer":
        if not target.startswith("/"):
            raise PlaceNameError(
                f"{text!r}: add the folder that contains the dev container: devcontainer:/folder"
            )
        return Place("devcontainer", target, path)
    place = Place(kind, target, path)
    check_place(place)
    return place


def check_place(place: Place) -> None:
    """Check a place that was assembled from settings.

    Raises:
        PlaceNameError: a part of the place is missing or invalid, or begins with `-` like an option.
    """
    names = place.target.split("/") if place.kind == "kubectl" else [place.target]
    if place.kind == "command":
        if not place.command:
            raise PlaceNameError(
                "a place that begins with `command:` needs a command that starts Python on that machine"
            )
    elif place.kind == "devcontainer":
        if not place.target.startswith("/"):
            raise PlaceNameError(
                "a dev container is named by the absolute path of its folder on this machine"
            )
    elif place.image:
        if place.kind in ("ssh", "kubectl") or not _NAME.fullmatch(place.image.replace(":", ".")):
            raise PlaceNameError(f"{place.image!r} is not an image that {place.kind} can start")
    elif len(names) > 3 or not all(_NAME.fullmatch(name) for name in names):
        raise PlaceNameError(f"{place.target!r} is not a valid {place.kind} name: {EXAMPLES}")
    if place.path and not place.path.startswith(("/", "~")):
        raise PlaceNameError(f"the folder {place.path!r} must be absolute or begin with ~")
    if place.kind == "command" and ":" in place.path:
        raise PlaceNameError(
            f"the folder {place.path!r} must not contain a colon, because a colon ends the folder in a place"
        )
    if "\0" in place.path or place.python.startswith("-") or not place.python.strip():
        raise PlaceNameError(
            "the folder contains a NUL character, or the Python program is empty or begins with a dash"
        )


def _split_target(rest: str) -> tuple[str, str]:
    if "[" in rest.partition("/")[0]:  # an address such as user@[::1]
        host, bracket, path = rest.partition("]")
        return host + bracket, path.removeprefix(":")
    target, _, path = rest.partition(":")
    return target, path


def _command_place(text: str, rest: str) -> Place:
    path = ""
    if rest.startswith(("/", "~")) and ":" in rest:
        path, _, rest = rest.partition(":")
    try:
        words = tuple(shlex.split(rest))
    except ValueError as error:
        raise PlaceNameError(f"{text!r}: {error}") from error
    place = Place("command", "", path, command=words)
    check_place(place)
    return place
