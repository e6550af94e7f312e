"""For programs whose steps nobody can see: `stormlog_gate.step()` at the end of each.

On the path of every Python process that the gate measures; elsewhere the import fails, so guard it:

    try:
        from stormlog_gate import step
    except ImportError:
        def step(number=None): ...
"""


def step(number=None):
    """One step is done; `number` is its number, by default one more than the last. Never raises, returns nothing."""
    try:
        from _stormlog_probe import process

        process.explicit_step(number)
    except Exception:  # noqa: BLE001
        pass
