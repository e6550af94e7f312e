"""The cache of the BPE model keeps words of any length: native memory that no Python object holds."""

import random
import string

from tokenizers import Tokenizer, models, pre_tokenizers

tokenizer = Tokenizer(models.BPE(vocab={letter: at for at, letter in enumerate(string.ascii_lowercase)}, merges=[]))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
letters = random.Random(1)


def call():
    word = "".join(letters.choices(string.ascii_lowercase, k=4000))
    tokenizer.encode(word)  # leaks
