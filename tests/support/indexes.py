"""What a server says of its indexes."""

from support.engine_process import EngineProcess


def ready(server: EngineProcess) -> dict[str, bool]:
    """SHOW INDEXES: each index, and whether it is used."""
    (entity,) = server.execute("SHOW INDEXES;")
    return {index["name"]: index["ready"] for index in entity["indexes"]}
