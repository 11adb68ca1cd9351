"""REST and WebSocket: requests in, answers out; knocks on the engine only."""
