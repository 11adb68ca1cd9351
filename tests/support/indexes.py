"""The state of a server's indexes, as it reports it."""

from support.engine_process import EngineProcess


def ready(server: EngineProcess) -> dict[str, bool]:
    """SHOW INDEXES: each index, and whether it is used."""
    (entity,) = server.execute("SHOW INDEXES;")
    return {index["name"]: index["ready"] for index in entity["indexes"]}
