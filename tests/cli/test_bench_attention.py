"""``polysched bench attention``."""

import json

import pytest

from tests.support.cli import run_cli
