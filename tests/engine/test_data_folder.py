"""The data directory of an engine that starts."""

from pathlib import Path

import pytest

from millstream.engine.bootstrap import EngineCannotStart, open_engine


def test_one_that_cannot_be_written_to_is_refused_before_anything_is_started(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EngineCannotStart, match=r"(?s)file/data cannot be written to: .*hint: .*millstream.data.dir"):
        open_engine({"bootstrap.servers": "127.0.0.1:1", "millstream.data.dir": str(tmp_path / "file" / "data")})
