"""A LightningModule with validation on random data."""

import argparse

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, 256), nn.ReLU(), nn.Linear(256, 10))

    def training_step(self, batch: list, _: int) -> torch.Tensor:
        inputs, targets = batch
        return nn.functional.cross_entropy(self.net(inputs), targets)

    def validation_step(self, batch: list, _: int) -> None:
        inputs, targets = batch
        # Logged as a number for each epoch: lists of outputs that live as long as the module are what usually leaks
        # here.
        self.log("accuracy", (self.net(inputs).argmax(dim=1) == targets).float().mean())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.01)


def loader(rows: int) -> DataLoader:
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(rows, 3, 32, 32, generator=generator)
    return DataLoader(TensorDataset(images, torch.randint(10, (rows,), generator=generator)), batch_size=32)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=6)
    options = parser.parse_args()
    lightning.seed_everything(0)
    trainer = lightning.Trainer(max_epochs=options.epochs, logger=False, enable_checkpointing=False, enable_progress_bar=False)
    trainer.fit(Classifier(), loader(1024), loader(256))


if __name__ == "__main__":
    main()
