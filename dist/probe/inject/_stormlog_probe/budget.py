"""How often a reading may be made, by its cost, so that the measured program keeps its speed.

The cost of a reading is unbounded: mallinfo2 walks every free block, 50 ms for a heap with 100,000 of them. It is the processor
time of the reading's thread: by the clock, a reading that waits for the interpreter's lock would be charged for the program's work,
and one interruption of the first reading would end all others.
"""

#: Readings of one kind take this share of the time in the long run.
SHARE = 0.003
#: Cost of a reading that a clock around it does not see: the call, and the program's code and data that the reading
#: evicts from the processor's caches. Nanoseconds.
AROUND_NS = 15_000
#: A reading is charged with at most so many times what the one before was: a stolen processor or cold pages add
#: milliseconds to a few readings, which would otherwise delay the next by seconds.
JUMP = 4
#: At first they may take more, until this much is spent, so that a short run is measured too. Nanoseconds.
CREDIT_NS = 5_000_000
#: Once steps have been read for EARLY_NS, readings of steps are at least STEADY_NS apart, whatever the timer reads:
#: fifty a second show any growth. Before that a run may be over within a tenth of a second. Nanoseconds.
EARLY_NS = 1_500_000_000
STEADY_NS = 20_000_000
#: But never more than this share of the time since the last reading.
MAX = 0.02
#: This many readings, from the start and again from the first step, are made in spite of a debt: growth is judged from
#: 24 readings on, and slow readings would otherwise prevent all others of a short run.
EARLY_READINGS = 40
#: Readings in debt take at most this share of the time.
EARLY_SHARE = 0.01
#: After them a debt is paid back by rarer readings. They are at most this share of the time since the start, or since
#: the first step, apart: a longer gap would hide how much a short run grew in its end.
MAX_GAP = 0.1


class Budget:
    """Time that readings may take, as an account: it fills at a share of the time, up to CREDIT_NS, and may be overdrawn once."""

    def __init__(self, share=SHARE):
        self._share = share
        #: When (monotonic ns) the next reading may be made, and when one that leaves half of the budget to other
        #: readings.
        self.next = 0
        self.next_modest = 0
        self._account = CREDIT_NS
        #: When (monotonic ns) the first step was read; 0 before.
        self._stepping = 0
        #: When (monotonic ns) the first reading ended, or the first step.
        self._began = 0
        self._ended = 0
        self._step_ended = 0
        self._early = EARLY_READINGS
        self._took = 0

    def first_step(self, now):
        """The first step ends at monotonic ns `now`."""
        self._stepping = self._began = now
        self._early = EARLY_READINGS

    def has_left(self, now):
        """Whether a step may be read at monotonic ns `now`, or the share allows it, however recent the last reading: for rare
        readings that matter.
        """
        return now >= self.next or self._account + (now - self._ended) * self._share > 0

    def spend(self, took, ended, at_step=True):
        """A reading that used `took` ns of its thread's processor time ended at monotonic ns `ended`."""
        self._took = min(took, JUMP * max(self._took, AROUND_NS))
        cost = AROUND_NS + self._took
        account = self._account + (ended - self._ended) * self._share - cost
        self._account = account if account < CREDIT_NS - cost else CREDIT_NS - cost
        self._ended = ended
        self._began = self._began or ended
        if at_step:
            self._step_ended = ended
        pause = cost / MAX
        steady = STEADY_NS if self._stepping and ended - self._stepping > EARLY_NS else 0
        overdrawn = -self._account / self._share
        below_half = overdrawn + CREDIT_NS / 2 / self._share
        early = self._early > 0
        self._early -= early
        most = max(cost / EARLY_SHARE, 0 if early else MAX_GAP * (ended - self._began))
        overdrawn = min(overdrawn, most)
        # Beside steps the timer's readings can wait.
        if early or not self._stepping:
            below_half = min(below_half, most)
        self.next = max(ended + max(pause, overdrawn), self._step_ended + steady)
        self.next_modest = ended + max(2 * pause, 2 * steady, below_half)
