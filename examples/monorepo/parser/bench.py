"""Parses the same document again and again."""

import json

document = json.dumps([{"id": i, "tags": ["a", "b"], "text": "x" * 50} for i in range(2000)])
total = 0
for _ in range(300):
    total += len(json.loads(document))
print(total)
