"""Who may do what: users and tokens, roles, the right that each statement needs, TLS, the audit log."""
