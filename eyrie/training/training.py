# SPDX-License-Identifier: Apache-2.0
"""The training of the float network on CIFAR-10's training images.

The recipe of the bundled weights (90.95 % on the test images): SGD with Nesterov momentum and a
one-cycle learning rate (Smith & Topin, arXiv:1708.07120), label smoothing, random crops and flips.
45 epochs take about 80 minutes on two idle cores. The test images are used only
once, at the end. Another configuration or number of threads gives other weights, for the same seed too.
"""

import time
from pathlib import Path

import numpy as np
import torch
from torch import nn

from eyrie.training.float_network import MobileNetV1, normalise, save_float

BATCH = 128
MAX_RATE = 0.2
WARM_UP = 0.2  # the part of all steps in which the learning rate rises to MAX_RATE
MOMENTUM, WEIGHT_DECAY, LABEL_SMOOTHING = 0.9, 5e-4, 0.1
MARGIN = 4  # pixels by which a random crop may be off centre
LOG_EVERY = 50  # steps


def augment(padded: np.ndarray, which: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return randomly cropped and flipped images uint8 [B, 32, 32, 3].

    padded: all images with MARGIN pixels more on each side; which: the B indices to take.
    """
    size, batch = padded.shape[1] - 2 * MARGIN, len(which)
    rows = random.integers(0, 2 * MARGIN + 1, (batch, 1)) + np.arange(size)
    columns = random.integers(0, 2 * MARGIN + 1, (batch, 1)) + np.arange(size)
    flip = random.random(batch) < 0.5
    columns[flip] = columns[flip, ::-1]
    return padded[which[:, None, None], rows[:, :, None], columns[:, None, :]]


def epoch(
    model: MobileNetV1,
    optimiser: torch.optim.Optimizer,
    schedule: torch.optim.lr_scheduler.LRScheduler,
    padded: np.ndarray,
    labels: torch.Tensor,
    random: np.random.Generator,
    name: str,
) -> None:
    """Train on every image once, in random order, and print the progress."""
    model.train()
    criterion = nn.CrossEntropyLoss(label_smoothing=LABEL_SMOOTHING)
    batches = np.array_split(random.permutation(len(labels)), max(1, len(labels) // BATCH))
    start, seen, right, total = time.perf_counter(), 0, 0, 0.0
    for step, which in enumerate(batches, 1):
        x = normalise(augment(padded, which, random)).to(memory_format=torch.channels_last)
        target = labels[which]
        logits = model(x)
        loss = criterion(logits, target)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        schedule.step()
        seen += len(which)
        total += loss.item() * len(which)
        right += int((logits.argmax(1) == target).sum())
        if step % LOG_EVERY == 0 or step == len(batches):
            print(
                f"{name} step {step}/{len(batches)}: loss {total / seen:.3f}, "
                f"training top-1 {100 * right / seen:.2f} %, "
                f"{time.perf_counter() - start:.0f} s",
                flush=True,
            )


def train(images: np.ndarray, labels: np.ndarray, epochs: int, seed: int, output: Path) -> MobileNetV1:
    """Return the trained network; writes its weights to `output` (.npz) after every epoch.

    images: uint8 [N, 32, 32, 3]; labels: uint8 [N].
    """
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    padded = np.pad(images, ((0, 0), (MARGIN, MARGIN), (MARGIN, MARGIN), (0, 0)), "reflect")
    target = torch.as_tensor(labels).long()
    model = MobileNetV1()
    model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # torch's types lack this argument
    optimiser = torch.optim.SGD(model.parameters(), MAX_RATE, MOMENTUM, weight_decay=WEIGHT_DECAY, nesterov=True)
    steps = epochs * max(1, len(labels) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, MAX_RATE, total_steps=steps, pct_start=WARM_UP, cycle_momentum=False
    )
    for number in range(1, epochs + 1):
        epoch(model, optimiser, schedule, padded, target, random, f"epoch {number}/{epochs}")
        save_float(model, output)
    return model.eval()
