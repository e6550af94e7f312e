"""Validation of a field of type `Iterable` keeps the validator of its items."""

from typing import Iterable

from pydantic import BaseModel


class Batch(BaseModel):
    values: Iterable[int]


def call():
    Batch.model_validate({"values": [1, 2, 3]})  # leaks
