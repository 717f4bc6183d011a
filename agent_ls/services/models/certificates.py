"""Check whether files of certificate authorities are usable, and when their certificates expire. Blocks."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

SOON_DAYS = 30
_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class CheckedAuthorities:
    """Result of checking one file of certificate authorities.

    `problem` "": all certificates are usable and do not expire soon. `is_useless`: no certificate is usable.
    """

    text: str
    problem: str = ""
    is_useless: bool = False


def check_authorities(file: Path, now_s: float) -> CheckedAuthorities:
    """Check a file of certificate authorities; an unusable file is reported in the result. `now_s` is Unix time."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(cafile=file)
    except FileNotFoundError:
        return CheckedAuthorities(str(file), "the file does not exist", is_useless=True)
    except (
        OSError,
        ssl.SSLError,
    ) as error:
        # SSLError is an OSError, but its text does not help the user.
        words = (
            "the file contains no certificate in PEM format"
            if isinstance(error, ssl.SSLError)
            else error.strerror
        )
        return CheckedAuthorities(str(file), words or str(error), is_useless=True)
    ends = sorted(ssl.cert_time_to_seconds(str(found["notAfter"])) for found in context.get_ca_certs())
    text = f"{file}, {context.cert_store_stats()['x509']} certificates"
    if not ends:
        return CheckedAuthorities(
            text,
            "none of the certificates belongs to a certificate authority: only servers with exactly these "
            "certificates are trusted",
        )
    gone = [end for end in ends if end < now_s]
    if gone:
        return CheckedAuthorities(
            text, f"{len(gone)} of the certificates have expired", is_useless=len(gone) == len(ends)
        )
    if ends[0] < now_s + SOON_DAYS * _DAY_S:
        return CheckedAuthorities(text, f"the first certificate expires on {_day(ends[0])}")
    return CheckedAuthorities(f"{text}, valid until {_day(ends[0])} or longer")


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()
