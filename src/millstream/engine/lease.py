"""The lease: which of the servers of one service id runs the queries (docs/design/002-command-log.md).

It is membership in a consumer group on the command topic. The server that is assigned its one partition leads; the
group's committed offset says which commands have been carried out, and the commit's metadata which server led last.

About once a second a leader proves that the group's coordinator still regards it as the partition's owner: it commits,
and a commit of a member that was replaced is refused. A commit that was sent at time t (monotonic) and accepted holds
the lease until t + `timeout_ms`: before that the coordinator assigns the partition to no other member. The sinks stop
writing when that has passed, even in a process that was frozen. So t is on the clock of the sinks' process, which may
learn of the extension much later:

    t=0.0  commit accepted      lease until 6.0
    t=1.0  commit accepted      lease until 7.0
    t=1.5  frozen (SIGSTOP)
    t=7.5                       the coordinator assigns the partition to another server, which starts the queries
    t=60   resumed              7.0 is past: sinks wait; the commit is refused, the queries are abandoned

While Kafka is away the sinks wait too. Once it is back, the metadata of the last commit says whether another server has
led meanwhile: if not, the term continues with its queries.
"""

import logging
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from millstream.engine.kafka import KafkaClient
from millstream.services.kafka_errors import reason
from millstream.services.log_format import OncePerKind
from millstream.services.loop import Loop

LOG = logging.getLogger(__name__)
# The client has a logger of its own: during an outage it repeats each message many times a second.
CLIENT_LOG = LOG.getChild("client")
CLIENT_LOG.addFilter(OncePerKind(60.0))
# How long one poll takes, in seconds, and after how many a leader extends the lease again (RENEW_AFTER).
POLL = 0.2
# How long one poll takes while a commit's answer is awaited, which comes within milliseconds.
ANSWER_POLL = 0.02
RENEW_AFTER = 1.0
# The coordinator's errors for a member that it has replaced, or that does not know of a rebalance yet.
REPLACED = (KafkaError.ILLEGAL_GENERATION, KafkaError.UNKNOWN_MEMBER_ID)
# After these errors a client never works again, and does not always report it when it is polled. A member can be fenced
# by itself: after an outage it joins again under the same name, and a commit under its old membership is refused.
FATAL = (KafkaError.FENCED_INSTANCE_ID, KafkaError._FATAL)
# The seconds without an assignment after which a leader joins again, if no other server has led.
REJOIN_AFTER = 30.0
# The seconds after which a member whose commit was not answered joins again, too.
ANSWERED_WITHIN = 30.0


@dataclass
class _Commit:
    """A commit whose answer is awaited: when it was sent (monotonic, and by the sinks' clock), and its answer."""

    sent: float
    sinks_sent: int
    is_answered: bool = False
    error: KafkaError | None = None


class Sinks(Protocol):
    """What writes only while the lease is held; in another process, with a monotonic clock of its own."""

    def lease_clock(self) -> int:
        """The present time of the sinks' clock, in ns."""
        ...

    def extend_lease(self, sent: int, seconds: float) -> None:
        """The lease is held for that many seconds from `sent`, a time of the sinks' clock."""
        ...


class Lease:
    """Membership in the lease's consumer group; `server` is the member's name, which stays the same after a restart."""

    def __init__(
        self,
        kafka: KafkaClient,
        topic: str,
        service: str,
        server: str,
        timeout_ms: int,
        sinks: Sinks,
        client_id: str = "",
        first: int = 0,
    ) -> None:
        """`topic` is the command topic, `timeout_ms` how long a leader that does not answer keeps the lease.

        `sinks` get each extension. `client_id` is shown to the group's other members, "" for the clients' own.
        `first`: the commands before it count as executed if Kafka does not have, or has lost, the leaders' position.
        """
        self.group = f"_millstream-{service}"
        self._topic, self._server, self._timeout = topic, server, timeout_ms / 1000
        self._first = first
        self._sinks = sinks
        self._token = uuid.uuid4().hex
        self._terms = self._term = 0
        self._assigned = self._confirmed = False
        self._position = self._carried_out = 0
        self._renew_at = self._held_until = 0.0
        self._owner_at = time.monotonic()
        # One at a time, so that an answer is that of this commit.
        self._commit: _Commit | None = None
        self._kafka = kafka
        self._settings = {
            **({"client.id": client_id} if client_id else {}),
            "group.id": self.group,
            "group.instance.id": server,
            "enable.auto.commit": False,
            "on_commit": self._on_commit,
            "session.timeout.ms": timeout_ms,
            "heartbeat.interval.ms": max(500, timeout_ms // 4),
            "socket.timeout.ms": max(1000, timeout_ms),
            "auto.offset.reset": "earliest",
            # A member that joins does not take the partition away from its owner.
            "partition.assignment.strategy": "cooperative-sticky",
        }
        self.loop = Loop("lease", self._step, self._member, outages=(KafkaException,))

    def start(self) -> None:
        """Join the group, on a thread of its own; does not wait until the group has assigned the partition."""
        self.loop.start()

    @property
    def term(self) -> int:
        """The number of this server's term as the leader, 0 while it does not lead; a new term has a new number.

        A term continues while Kafka is away; the sinks wait then.
        """
        return self._term

    @property
    def held(self) -> bool:
        """True if no other server can have got the lease meanwhile; False while Kafka is away."""
        return bool(self._term) and time.monotonic() < self._held_until

    def carried_out(self) -> int:
        """The first command that no leader before this term has executed."""
        return self._carried_out

    def executed(self) -> int:
        """The first command that, as Kafka knows it, no leader has executed yet. Raises KafkaException."""
        return self._kafka.committed(self.group, self._topic).get(0, self._first)

    def commit(self, position: int) -> None:
        """Record that the commands before `position` were executed; it is committed with an extension, a moment later.

        The next leader may therefore repeat the last commands.
        """
        if position > self._position:
            # In this order: the thread of the lease sets the time of its next extension, then reads the position.
            self._position = position
            self._renew_at = 0.0

    def close(self) -> None:
        """Stop the loop and close the consumer. A static member stays in the group until its session times out, so that
        a server that is restarted before that gets the lease back at once."""
        self.loop.stop()

    @contextmanager
    def _member(self) -> Iterator[Consumer]:
        """A member of the group while the block runs; at an orderly end a leader commits its position and leaves."""
        consumer = self._kafka.consumer(self._settings, CLIENT_LOG)
        consumer.subscribe(
            [self._topic], on_assign=self._on_assign, on_revoke=self._on_unassigned, on_lost=self._on_unassigned
        )
        try:
            yield consumer
            self._await_answer(consumer)
            if self._confirmed:
                if self._commit is None:
                    self._extend(consumer)
                    self._await_answer(consumer)
                self._end_term()
        finally:
            self._assigned = self._confirmed = False
            self._commit = None
            consumer.close()

    def _step(self, consumer: Consumer) -> None:
        self._poll(consumer)
        if self._commit is None and time.monotonic() >= self._renew_at and (self._assigned or self._term):
            self._renew_at = time.monotonic() + RENEW_AFTER
            if not self._confirmed:
                self._confirm(consumer)
            if self._confirmed:
                self._extend(consumer)
        self._check_membership()

    def _poll(self, consumer: Consumer) -> None:
        """Serve the consumer's callbacks and events. Raises KafkaException if the member has to join again."""
        message = consumer.poll(POLL if self._commit is None else ANSWER_POLL)
        self._check_answer()
        error = message.error() if message is not None else None
        if error is not None and error.fatal():
            LOG.error(
                "this server's membership in the lease is fenced: %s; does another server use the same id, %s?",
                error,
                self._server,
            )
            raise KafkaException(error)
        if error is not None and error.code() == KafkaError.INVALID_SESSION_TIMEOUT:
            limits = "the broker's group.min.session.timeout.ms and group.max.session.timeout.ms do not allow it"
            reason = f"no server can lead: millstream.lease.timeout.ms is {self._timeout * 1000:.0f}, and {limits}"
            raise KafkaException(KafkaError(error.code(), reason))

    def _check_membership(self) -> None:
        """Raise KafkaException if this server leads, but owns no partition for too long; the loop then joins again."""
        now = time.monotonic()
        if self._assigned or not self._term:
            self._owner_at = now
        elif now - self._owner_at > REJOIN_AFTER:
            self._owner_at = now
            reason = f"the group {self.group} has not assigned the lease to any member for {REJOIN_AFTER:.0f} s"
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, reason))

    def _confirm(self, consumer: Consumer) -> None:
        """Check, by who has committed last, whether the term continues, a new one begins, or another server leads."""
        (committed,) = consumer.committed([TopicPartition(self._topic, 0)], timeout=self._timeout)
        if committed.error is not None:
            raise KafkaException(committed.error)
        is_own = bool(self._term) and committed.metadata == self._token
        if self._term and not is_own:
            LOG.warning("another server has become the leader: the queries of this server are abandoned")
            self._end_term()
        if self._assigned:
            if not is_own:
                # Kafka deletes the position of a group without members after offsets.retention.minutes, and with its
                # topic. To execute all commands again would delete topics that were created again since.
                self._position = self._carried_out = committed.offset if committed.offset >= 0 else self._first
            self._confirmed = True

    def _extend(self, consumer: Consumer) -> None:
        """Commit as the partition's owner, and record when the commit was sent; `_poll` gets the answer.

        A synchronous commit would not do: after an outage that began while it was sent, librdkafka may wait for ever,
        and nobody would poll.
        """
        self._commit = _Commit(time.monotonic(), self._sinks.lease_clock())
        position = TopicPartition(self._topic, 0, self._position, self._token)
        try:
            consumer.commit(offsets=[position], asynchronous=True)
        except KafkaException as failure:
            self._on_commit(failure.args[0], [position])

    def _on_commit(self, error: KafkaError | None, _: list[TopicPartition]) -> None:
        if self._commit is not None:
            self._commit.is_answered, self._commit.error = True, error

    def _await_answer(self, consumer: Consumer) -> None:
        """Poll until the commit that was sent is answered, for the lease's time at most."""
        while self._commit is not None and time.monotonic() - self._commit.sent < self._timeout:
            self._poll(consumer)

    def _check_answer(self) -> None:
        """Hold the lease for `timeout_ms` from before a commit that was accepted.

        Raises KafkaException if the member is fenced, or was not answered for too long.
        """
        commit = self._commit
        if commit is None:
            return
        if not commit.is_answered:
            if time.monotonic() - commit.sent > ANSWERED_WITHIN:
                fact = f"a commit of the group {self.group} was not answered for {ANSWERED_WITHIN:.0f} s"
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT, fact))
            return
        self._commit = None
        if commit.error is not None:
            self._refused(commit.error)
            return
        if not self._confirmed:
            # The group has been rebalanced since the commit was sent: only the next commit's answer says who owns the
            # partition now.
            return
        self._held_until = commit.sent + self._timeout
        self._sinks.extend_lease(commit.sinks_sent, self._timeout)
        if not self._term:
            self._terms += 1
            self._term = self._terms
            LOG.info("%s runs the queries of %s", self._server, self.group)

    def _refused(self, error: KafkaError) -> None:
        if error.code() in FATAL:
            raise KafkaException(error)
        if error.code() in REPLACED:
            # The member was replaced, or the client has not learned of the group's new generation yet. The
            # rebalance callbacks report whether the partition is still assigned; without a change they are not called.
            self._confirmed = False
        LOG.warning("the lease could not be extended: %s", reason(KafkaException(error)))

    def _end_term(self) -> None:
        self._term = 0

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        if partitions:
            consumer.incremental_assign(partitions)
            consumer.pause(partitions)
            self._assigned, self._confirmed, self._renew_at = True, False, 0.0

    def _on_unassigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        if partitions:
            consumer.incremental_unassign(partitions)
            self._assigned = self._confirmed = False
