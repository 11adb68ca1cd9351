"""Measures millstream against Kafka Streams, the engine below ksqlDB: `python -m bench`."""
