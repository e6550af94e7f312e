"""The conversion's pool keeps pages that are free: the level rises, then rests."""

import numpy as np
import pyarrow as pa

values = np.arange(200_000)


def call():
    pa.table({"a": values}).to_pandas()  # leaks
