"""jars.lock: the files that each process needs, their paths in a Maven repository, and their hashes."""

from dataclasses import dataclass
from pathlib import Path

from millstream.services import shipped


@dataclass(frozen=True, slots=True)
class Artifact:
    """One file of the lock: its groups, Maven coordinates, size in bytes and sha256."""

    groups: frozenset[str]
    coordinates: str
    size: int
    sha256: str

    @property
    def name(self) -> str:
        """The file's name: artifact-version[-classifier].ext."""
        _, artifact, version, classifier, ext = self._parts()
        return f"{artifact}-{version}{'-' + classifier if classifier else ''}.{ext}"

    @property
    def path(self) -> str:
        """Its path in a Maven repository, relative to the repository's root."""
        group, artifact, version, _, _ = self._parts()
        return f"{group.replace('.', '/')}/{artifact}/{version}/{self.name}"

    def _parts(self) -> tuple[str, str, str, str, str]:
        group, artifact, version, *rest = self.coordinates.split(":")
        classifier, ext = rest or ("", "jar")
        return group, artifact, version, classifier, ext


def read(path: Path | None = None) -> tuple[Artifact, ...]:
    """The artifacts of a lock file (default: the one shipped with millstream)."""
    lines = (path or shipped("jars.lock")).read_text().splitlines()
    return tuple(_artifact(line) for line in lines if line and not line.startswith("#"))


def _artifact(line: str) -> Artifact:
    groups, coordinates, size, sha256 = line.split()
    return Artifact(frozenset(groups.split(",")), coordinates, int(size), sha256)
