"""Callbacks that are registered and never removed, in a Python service.

Each request registers a callback for the end of the service, which holds the request's buffer. The service does not stop.

Keeps with every step: the buffer of one request (128 KiB).
"""

from leaklab.host import PAYLOAD, main


def leaky():
    on_stop = []

    # leak begins
    def answer(number):
        buffer = bytearray(PAYLOAD)
        on_stop.append(lambda: buffer.clear())
        buffer[number % PAYLOAD] = 1

    # leak ends
    return answer


def fixed():
    on_stop = []

    def answer(number):
        buffer = bytearray(PAYLOAD)
        callback = buffer.clear
        on_stop.append(callback)
        try:
            buffer[number % PAYLOAD] = 1
        finally:
            on_stop.remove(callback)

    return answer


if __name__ == "__main__":
    main(leaky, fixed)
