"""A server's first request to Kafka: how long a cluster is waited for, and why it cannot be reached.

no broker listens        it is tried for PATIENCE: brokers may start at the same time
the password is wrong    it is tried for REFUSED_PATIENCE, and the error is the broker's
"""

import logging
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

# In seconds; ATTEMPT is how long one request waits for an answer.
PATIENCE, REFUSED_PATIENCE, ATTEMPT = 10.0, 2.0, 1.0
REFUSED = (KafkaError._AUTHENTICATION, KafkaError._SSL)
# The errors of a connection that say why it ended, and what librdkafka adds to them.
NAMED = (*REFUSED, KafkaError._RESOLVE, KafkaError._TRANSPORT)
_STATE = re.compile(r" \(after \d+ms in state \w+.*\)$")


def cluster_id(settings: Mapping[str, Any], log: logging.Logger) -> str:
    """The id of the cluster that a new client of librdkafka's `settings` reaches.

    Raises KafkaException if no broker answers, or all refuse the login or the certificate, with the reason.
    """
    errors = list[KafkaError]()
    # A client with this callback keeps all its errors until it is polled, so this one does not live long.
    watched: dict[str, Any] = {**settings, "error_cb": errors.append}
    client, began = AdminClient(watched, logger=log), time.monotonic()
    while True:
        try:
            return str(client.list_topics(timeout=min(ATTEMPT, PATIENCE)).cluster_id)
        except KafkaException as failure:
            client.poll(0)
            patience = REFUSED_PATIENCE if any(error.code() in REFUSED for error in errors) else PATIENCE
            if time.monotonic() - began >= patience:
                raise _with_reason(failure, errors) from failure


def _with_reason(failure: KafkaException, errors: Sequence[KafkaError]) -> KafkaException:
    """The failure of a request, with the last of its client's errors that says why a connection ended."""
    named = [str(error.str()) for error in errors if error.code() in NAMED]
    return KafkaException(KafkaError(failure.args[0].code(), _STATE.sub("", named[-1]))) if named else failure
