# SPDX-License-Identifier: Apache-2.0
"""model/messages.py: words that messages share."""

import pytest

from eyrie.model.errors import InputError
from eyrie.model.messages import MOST_NAMED, number_of, unknown, with_article
from eyrie.model.reading import read_file
from eyrie.training.cifar10 import CLASSES


@pytest.mark.parametrize(
    ("count", "noun", "said"),
    [(0, "job", "0 jobs"), (1, "pass", "1 pass"), (2, "pass", "2 passes"), (12_345, "model", "12,345 models")],
)
def test_numbers_and_nouns(count: int, noun: str, said: str) -> None:
    assert number_of(count, noun) == said


def test_articles() -> None:
    assert [name for name in CLASSES if with_article(name) == f"an {name}"] == ["airplane", "automobile"]
    assert with_article("cat") == "a cat"


def test_unknown_names() -> None:
    tests = [f"net{n}" for n in range(MOST_NAMED + 1)] + ["fifo0", "fifo1"]
    assert unknown("test", "fifo", tests) == "unknown test 'fifo'; did you mean one of fifo0, fifo1?"
    assert unknown("test", "fifi0", tests) == "unknown test 'fifi0'; did you mean 'fifo0'?"
    assert unknown("test", "net", tests, "make list") == "unknown test 'net': make list lists them"


def test_names_that_no_file_has() -> None:
    with pytest.raises(InputError, match=r"cannot be read \(embedded null byte\): check the path$"):
        read_file("a\0b.tflite", "give a model")
