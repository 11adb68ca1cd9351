"""Analysis: resolves names, types expressions and checks a statement's properties against the catalog."""
