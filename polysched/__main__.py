"""``python -m polysched``: the command line."""

from polysched.cli.main import main

if __name__ == "__main__":
    main(prog_name="polysched")
