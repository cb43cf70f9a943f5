"""The command line: ``polysched check``, ``show``, ``run``, ``bench`` and ``machine``."""
