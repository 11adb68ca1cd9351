"""The REST and WebSocket API; it uses the engine through its interface, engine/api.py, only."""
