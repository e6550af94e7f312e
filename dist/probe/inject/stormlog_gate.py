"""Steps and phases that a program names: `stormlog_gate.step()` at the end of each step, `stormlog_gate.phase(name)` around a part.

On the path of every Python process that the gate measures; elsewhere the import fails, so guard it:

    try:
        from stormlog_gate import phase, step
    except ImportError:
        from contextlib import nullcontext as phase

        def step(number=None): ...
"""


def step(number=None):
    """One step is done; `number` is its number, by default one more than the last. Never raises, returns nothing."""
    try:
        from _stormlog_probe import process

        process.explicit_step(number)
    except Exception:  # noqa: BLE001
        pass


class phase:  # noqa: N801 (used as a statement of the program)
    """
    `with phase("validation"): ...` names what the program does within it; phases may lie within others and in any thread. The name
    is any text: one line of at most 80 characters is kept. The first 256 phases of a process are kept. Never raises of itself.
    """

    __slots__ = ("_name", "_entered")

    def __init__(self, name):
        self._name = name
        self._entered = []

    def __enter__(self):
        entered = None
        try:
            from _stormlog_probe import process

            entered = process.enter_phase(self._name)
        except Exception:  # noqa: BLE001
            pass
        self._entered.append(entered)
        return self._name

    def __exit__(self, *error):
        try:
            entered = self._entered.pop()
            if entered is not None:
                from _stormlog_probe import process

                process.leave_phase(entered)
        except Exception:  # noqa: BLE001
            pass
