"""The program beside it as a test of pytest-memray."""

import os

import pytest
from program import call

CALLS = int(os.environ["BENCH_CALLS"])
for _ in range(max(1, CALLS // 10)):
    call()


@pytest.mark.limit_leaks("1 MB")
def test_program():
    for _ in range(CALLS - max(1, CALLS // 10)):
        call()
