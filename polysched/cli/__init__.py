"""The command line ``polysched``: one module for each subcommand."""
