"""What tests share: topics, producing and consuming."""
