"""Two seconds of allocations and arithmetic in plain Python."""

rows = []
for turn in range(1_500_000):
    rows.append([turn, str(turn), turn * 0.5])
    if len(rows) == 20_000:
        rows = rows[10_000:]
