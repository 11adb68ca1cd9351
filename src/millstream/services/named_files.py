"""Files that a user names: why one cannot be read, in words, and whether it has changed."""

from pathlib import Path

FileVersion = tuple[int, int, int]


def why_unreadable(error: OSError | UnicodeDecodeError) -> str:
    """The operating system's words, such as "No such file or directory"; for other bytes than UTF-8 where they are."""
    if isinstance(error, UnicodeDecodeError):
        return f"it is not UTF-8 text (byte {error.start})"
    return error.strerror or str(error)


def file_version(path: Path) -> FileVersion:
    """A version of the file that changes with it; zeros if it does not exist, or no file can have its name."""
    try:
        status = path.stat()
    # ValueError: a name with a NUL.
    except (OSError, ValueError):
        return (0, 0, 0)
    return (status.st_mtime_ns, status.st_ino, status.st_size)
