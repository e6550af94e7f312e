"""The pace of the programs: rounds of a fixed length, reported as steps on request. Holds nothing itself."""

import os
import time

try:
    from stormlog_gate import step as probe_step
except ImportError:

    def probe_step(number=None):
        """Outside the gate nothing counts steps."""


def file_step(number):
    """Report a step as a program in any language does."""
    name = os.environ.get("STORMLOG_GATE_STEP_FILE")
    if name:
        with open(name, "w") as file:
            file.write("%d\n" % number)


def rounds(count, seconds=0.02, report=None):
    """The numbers 0 to count - 1, each followed by a pause; `report` gets the number of rounds done."""
    for number in range(count):
        yield number
        if report is not None:
            report(number + 1)
        time.sleep(seconds)
