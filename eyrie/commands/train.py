# SPDX-License-Identifier: Apache-2.0
"""Train the float network from scratch on CIFAR-10's training images (eyrie/training/training.py).

    eyrie train --cifar10 DIR -o float.npz [--epochs 45] [--seed 1]

45 epochs take about 80 minutes on two idle cores.
"""

import argparse

from eyrie.compiler.command_line import file_name, whole_number
from eyrie.compiler.files import check_file
from eyrie.compiler.options import MOST_SEED

FEWEST, MOST = 2560, 50_000  # images: an epoch needs 20 steps, in which the rate rises and falls


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cifar10", type=file_name, required=True, metavar="DIR", help="folder with CIFAR-10")
    parser.add_argument("-o", "--output", type=file_name, required=True, metavar="X.npz", help="float weights")
    parser.add_argument(
        "--epochs", type=whole_number(1), default=45, metavar="N", help="passes over the training images (45)"
    )
    parser.add_argument(
        "--seed", type=whole_number(0, MOST_SEED), default=1, metavar="N", help="seed of weights and order (1)"
    )
    parser.add_argument(
        "--images",
        type=whole_number(FEWEST, MOST),
        default=MOST,
        metavar="N",
        help="train on the first N images only, to try it out",
    )


def run(options: argparse.Namespace) -> None:
    check_file(options.output)
    from eyrie.training import cifar10

    for split in cifar10.BATCHES:
        cifar10.locate(options.cifar10, split)
    images, labels = cifar10.load(options.cifar10, "train")
    test_images, test_labels = cifar10.load(options.cifar10, "test")
    from eyrie.training.float_network import float_logits
    from eyrie.training.training import train

    model = train(images[: options.images], labels[: options.images], options.epochs, options.seed, options.output)
    right = int((float_logits(model, test_images).argmax(1).numpy() == test_labels).sum())
    print(f"{options.output}: test top-1 {100 * right / len(test_labels):.2f} %")
