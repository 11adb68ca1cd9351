"""A Kafka cluster whose controller is a process of its own, which may be away while the broker serves its topics."""

import socket
from pathlib import Path

from millstream.services.broker import BrokerProcess, new_cluster_id
from millstream.services.ports import free_port
from millstream.tester.environment import NO_RETENTION

HOST = "127.0.0.1"
CONTROLLER, BROKER = 100, 1


class ControllerProcess(BrokerProcess):
    """A controller that is no broker; see BrokerProcess for the arguments."""

    title = "the Kafka controller"

    def answers(self) -> bool:
        """True if it accepts connections."""
        with socket.socket() as client:
            return client.connect_ex((self.host, self.port)) == 0


def apart(data: Path) -> tuple[ControllerProcess, BrokerProcess]:
    """A controller and a broker of one cluster, with data under `data`; start them in this order."""
    port, id = free_port(), new_cluster_id()
    voters = {"controller.quorum.voters": f"{CONTROLLER}@{HOST}:{port}"}
    alone = {"process.roles": "controller", "node.id": CONTROLLER, "listeners": f"CONTROLLER://{HOST}:{port}"}
    controller = ControllerProcess(data / "controller", port, HOST, settings={**alone, **voters}, cluster_id=id)
    own = free_port()
    serving = {"process.roles": "broker", "node.id": BROKER, "listeners": f"PLAINTEXT://{HOST}:{own}"}
    settings = {**NO_RETENTION, **serving, **voters}
    return controller, BrokerProcess(data / "broker", own, HOST, settings=settings, heap="512m", cluster_id=id)
