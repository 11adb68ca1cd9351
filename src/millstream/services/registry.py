"""A real schema registry (Apicurio, with Confluent's API) as a child process."""

import shutil
import tarfile
import tempfile
from pathlib import Path

import httpx

from millstream.services import jars
from millstream.services.java import java
from millstream.services.progress import Progress
from millstream.services.service import Service

API = "/apis/ccompat/v7"


class RegistryProcess(Service):
    """A schema registry; see Service for the arguments."""

    name = "registry"
    title = "the schema registry"
    port_setting = "--registry-port"

    def __init__(
        self,
        data: Path,
        port: int = 8081,
        host: str = "127.0.0.1",
        heap: str = "512m",
        archive: Path | None = None,
    ) -> None:
        super().__init__(data, port, host, heap, archive)

    @property
    def url(self) -> str:
        """The URL of the registry in Confluent's API, which is the value for clients' `schema.registry.url`."""
        return f"http://{self.address}{API}"

    def command(self, progress: Progress | None) -> list[str | Path]:
        """The registry's command line; the first time, downloads 109 MB. Raises SetupError."""
        program = unpacked(jars.fetch("registry", progress)[0])
        settings = {
            "quarkus.http.host": self.host,
            "quarkus.http.port": self.port,
            "apicurio.storage.kind": "sql",
            "apicurio.storage.sql.kind": "h2",
            "apicurio.datasource.url": f"jdbc:h2:file:{self.home / 'schemas'}",
            "apicurio.datasource.jdbc.initial-size": 1,
            "apicurio.datasource.jdbc.min-size": 1,
            "apicurio.storage.snapshot.location": self.home,
        }
        (runner,) = program.glob("*-runner.jar")
        limits = [f"-Xmx{self.heap}", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        limits += self.class_options([runner, *sorted((program / "lib").glob("*.jar"))])
        return [java(), *limits, *(f"-D{name}={value}" for name, value in settings.items()), "-jar", runner]

    def answers(self) -> bool:
        """True if the registry returns its list of subjects."""
        try:
            return httpx.get(f"{self.url}/subjects", timeout=2).is_success
        except httpx.TransportError:
            return False


def unpacked(archive: Path) -> Path:
    """The folder of an unpacked .tar.gz of the cache, next to `jars`; it is unpacked if the folder does not exist."""
    folder = jars.cache_folder() / archive.name.removesuffix(".tar.gz")
    if not folder.is_dir():
        _unpack(archive, folder)
    return folder


def _unpack(archive: Path, folder: Path) -> None:
    """Unpack next to `folder` and rename, so that it is complete or absent, even if other processes unpack it too."""
    beside = Path(tempfile.mkdtemp(prefix=folder.name, dir=folder.parent))
    with tarfile.open(archive) as files:
        files.extractall(beside, filter="data")
    try:
        beside.rename(folder)
    except OSError:  # another process was first
        shutil.rmtree(beside)
        if not folder.is_dir():
            raise
