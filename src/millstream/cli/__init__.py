"""The command line: the shell, the server, and the commands for development, tests, migrations and users."""
