"""Translate errors of the session store into messages for the user."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agent_ls.services.errors import (
    AppError,
    BadChoiceError,
    SessionOpenHereError,
    SessionOwnedError,
    UnknownSessionError,
    UnreadableSessionError,
)
from agent_ls.store.errors import (
    BadSessionError,
    MissingLogError,
    NewerFormatError,
    OwnershipLostError,
    SessionLockedError,
    StoreError,
    UnknownOutputError,
    UnknownTurnError,
)
from agent_ls.store.locks import make_own_owner
from agent_ls.system import describe_out_of_files, is_out_of_files

if TYPE_CHECKING:
    from agent_ls.store.sessions import OpenSession

SHOWN_TURNS = 5
_NO_TURN = "give the id of a turn that has ended; no turn has ended yet"
STATE_VARIABLE = "AGENT_LS_STATE_DIR"
_FULL = (errno.ENOSPC, errno.EDQUOT)
_NO_FOLDER = (errno.EEXIST, errno.ENOTDIR)


@contextmanager
def store_errors(session_id: str) -> Iterator[None]:
    try:
        yield
    except SessionLockedError as error:
        if error.owner.endswith(str(make_own_owner())):
            raise SessionOpenHereError(session_id) from None
        raise SessionOwnedError(session_id, error.owner) from None
    except OwnershipLostError:
        raise SessionOwnedError(session_id) from None
    except UnknownTurnError as error:
        newest = ", ".join(error.known[-SHOWN_TURNS:])
        hint = (
            f"give the id of a turn that has ended, such as one of the newest: {newest}"
            if newest
            else _NO_TURN
        )
        raise BadChoiceError(str(error), hint) from None
    except UnknownOutputError:
        raise
    except (MissingLogError, BadSessionError, NewerFormatError) as error:
        raise UnreadableSessionError(str(error), is_newer=isinstance(error, NewerFormatError)) from None
    except StoreError as error:
        raise UnknownSessionError(session_id, str(error)) from None
    except OSError as error:
        if is_out_of_files(error):
            raise AppError(*describe_out_of_files()) from error
        where = f": {error.filename}" if error.filename else ""
        raise AppError(
            f"the session cannot be stored on disk: {storing_reason(error)}{where}",
            storing_hint(
                error, "that folder", f"set {STATE_VARIABLE}, in a program state_dir, to another folder"
            ),
        ) from error


def storing_reason(error: OSError) -> str:
    """Return why a file cannot be written."""
    return "not a folder" if error.errno in _NO_FOLDER else error.strerror or str(error)


def storing_hint(error: OSError, folder: object, other_way: str) -> str:
    """Return what to do if no file can be written below `folder`. `other_way` begins with a verb."""
    if error.errno in _FULL:
        return f"free some space on the disk of {folder}, or {other_way}"
    if error.errno in _NO_FOLDER:
        return f"remove the file that is in the place of {folder}, or of a folder above it, or {other_way}"
    return f"make {folder} writable, or {other_way}"


@contextmanager
def closed_on_failure(opened: OpenSession) -> Iterator[None]:
    """Close the session if the block raises, so that it does not stay locked."""
    try:
        yield
    except BaseException:
        opened.close()
        raise
