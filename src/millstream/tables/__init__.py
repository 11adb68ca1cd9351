"""Tables kept for reading: their topics, followed into stores of bytes that pull queries look rows up in."""
