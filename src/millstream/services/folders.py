"""Folders that a server writes to: whether it can, and why not in an operator's words."""

import errno
from pathlib import Path
from uuid import uuid4

from millstream.services.errors import SetupError

_HINTS = {
    errno.ENOSPC: "make room there",
    errno.EDQUOT: "make room there",
    errno.EROFS: "mount it for writing",
    errno.EACCES: "give it to the server's user (chown)",
    errno.EPERM: "give it to the server's user (chown)",
    errno.ENOTDIR: "something on this path is a file",
    errno.EEXIST: "there is a file of that name",
}


def check_writable(folder: Path, remedy: str) -> None:
    """Make the folder, and a file in it that is removed again; `remedy` says what chooses another folder.

    Raises SetupError.
    """
    probe = folder / f".writable-{uuid4().hex}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            probe.write_bytes(bytes(4096))
            probe.replace(folder / f"{probe.name}.renamed")
        finally:
            for path in (probe, folder / f"{probe.name}.renamed"):
                path.unlink(missing_ok=True)
    except OSError as failure:
        hint = _HINTS.get(failure.errno or 0)
        fact = f"{folder} cannot be written to: {failure.strerror or failure}"
        raise SetupError(fact, f"{hint}, or {remedy}" if hint else remedy) from failure
