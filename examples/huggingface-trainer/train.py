"""Fine-tunes a tiny GPT-2 of random weights on random tokens with transformers.Trainer; nothing is downloaded."""

import argparse

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments


class RandomTokens(Dataset):
    def __init__(self, rows: int, length: int, vocabulary: int) -> None:
        generator = torch.Generator().manual_seed(0)
        self.tokens = torch.randint(vocabulary, (rows, length), generator=generator)

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: int) -> dict:
        return {"input_ids": self.tokens[index], "labels": self.tokens[index]}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    options = parser.parse_args()

    config = GPT2Config(vocab_size=1000, n_positions=128, n_embd=128, n_layer=4, n_head=4)
    arguments = TrainingArguments(
        output_dir="output",
        max_steps=options.steps,
        per_device_train_batch_size=8,
        # Evaluation without this keeps every batch's logits on the device until the end.
        eval_accumulation_steps=4,
        eval_strategy="steps",
        eval_steps=max(1, options.steps // 4),
        save_strategy="no",
        logging_steps=50,
        report_to=[],
        seed=0,
    )
    trainer = Trainer(
        model=GPT2LMHeadModel(config),
        args=arguments,
        train_dataset=RandomTokens(2048, 64, config.vocab_size),
        eval_dataset=RandomTokens(64, 64, config.vocab_size),
    )
    trainer.train()


if __name__ == "__main__":
    main()
