"""
Holds the last 40 documents of 64 KiB, and a registry of all documents by weak reference. Bounded: a document that
leaves the window leaves the registry as well.
"""

import weakref
from collections import deque

from pace import rounds


class Document:
    def __init__(self, number):
        self.number = number
        self.text = bytearray(1 << 16)


registry = weakref.WeakValueDictionary()
window = deque(maxlen=40)
for number in rounds(140):
    document = registry[number] = Document(number)
    window.append(document)
    del document
print(len(registry))
