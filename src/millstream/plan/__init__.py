"""Planning: from statements to plan nodes and to the steps that carry a statement out."""
