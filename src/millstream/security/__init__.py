"""Access control: users and tokens, roles, the rights that each statement needs, TLS, the audit log."""
