"""How many push queries run at once is counted where they are admitted."""

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, cast

from millstream.engine.api import RequestFailed
from millstream.engine.push_queries import admit
from millstream.model.settings import effective


def test_of_many_at_once_exactly_the_limit_is_admitted() -> None:
    count, limit = 200, 100
    state, together = SimpleNamespace(slots=0), threading.Barrier(count)
    server = {"ksql.max.push.queries": str(limit)}
    engine = cast(Any, SimpleNamespace(lock=threading.Lock(), push={}, server=server, state=state))
    context = cast(Any, SimpleNamespace(settings=effective({})))

    def one(number: int) -> int:
        together.wait()
        try:
            admit(cast(Any, SimpleNamespace(query_id=str(number), slots=1)), context, engine)
        except RequestFailed as refused:
            return refused.code
        return 0

    with ThreadPoolExecutor(count) as pool:
        codes = list(pool.map(one, range(count)))
    assert (codes.count(0), codes.count(40003)) == (limit, count - limit)
    assert len(engine.push) == limit
