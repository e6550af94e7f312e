"""The native parser of `read_csv` keeps its buffers."""

from io import StringIO

import pandas as pd

TEXT = "a,b,c\n" + "".join(f"{row},{row * 2},x{row}\n" for row in range(50))


def call():
    pd.read_csv(StringIO(TEXT))  # leaks
