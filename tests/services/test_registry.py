"""The registry as a user's machine runs it: Confluent's API, and schemas that outlive a restart."""

import json
from pathlib import Path

import httpx
import pytest

from millstream.services.errors import SetupError
from millstream.services.registry import RegistryProcess
from support.patience import PATIENCE

pytestmark = pytest.mark.live
AVRO = json.dumps({"type": "record", "name": "R", "fields": [{"name": "A", "type": "long"}]})


def register(registry: RegistryProcess, subject: str, schema: str) -> int:
    answer = httpx.post(f"{registry.url}/subjects/{subject}/versions", json={"schema": schema}, timeout=PATIENCE)
    return answer.raise_for_status().json()["id"]


def test_a_schema_has_one_id_whatever_its_subject(registry: RegistryProcess) -> None:
    first = register(registry, "a-value", AVRO)
    assert register(registry, "b-value", AVRO) == first
    schema = httpx.get(f"{registry.url}/schemas/ids/{first}", timeout=PATIENCE).json()["schema"]
    assert json.loads(schema)["fields"][0]["name"] == "A"


def test_schemas_survive_a_restart(tmp_path: Path) -> None:
    with RegistryProcess(tmp_path, 0) as before:
        number = register(before, "kept-value", AVRO)
    with RegistryProcess(tmp_path, 0) as after:
        assert httpx.get(f"{after.url}/subjects/kept-value/versions/1", timeout=PATIENCE).json()["id"] == number


def test_a_busy_port_is_refused(registry: RegistryProcess, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=f"port {registry.port} is in use, so the schema registry cannot"):
        RegistryProcess(tmp_path, registry.port).start()
