"""A cache without a bound, in a Python service.

Answers are kept by request, and no two requests are the same: their key has the time in it. Every look-up misses, and
every answer stays.

Keeps with every step: one answer (128 KiB).
"""

import functools

from leaklab.host import PAYLOAD, main


def leaky():
    # leak begins
    answers = {}

    def answer(number):
        key = ("page", number % 8, number)
        if key not in answers:
            answers[key] = bytearray(PAYLOAD)
        return answers[key]

    # leak ends
    return answer


def fixed():
    @functools.lru_cache(maxsize=8)
    def render(page):
        return bytearray(PAYLOAD)

    def answer(number):
        return render(number % 8)

    return answer


if __name__ == "__main__":
    main(leaky, fixed)
