"""A program as a test, for pytest-memray. The variable PROGRAM names it."""

import os
import runpy


def test_program():
    runpy.run_path(os.environ["PROGRAM"], run_name="__main__")
