# SPDX-License-Identifier: Apache-2.0
"""Case files: what is rejected and why, word for word; random ones on the pass model."""

import numpy as np
import pytest

from eyrie.compiler.single_layer.file import BadCase, load, parts
from eyrie.compiler.single_layer.layer_run import LayerPass
from eyrie.model.config import DEFAULT
from eyrie.model.passes import run_pass
from tests.commands import case_files


def good(rng: np.random.Generator, fused: bool = False) -> case_files.Arrays:
    kind = case_files.fused if fused else case_files.convolution
    return kind(rng, (5, 6, 7), 9, (3, 3), 1, 1)[0]


def sums_of(passes: list[LayerPass], shape: tuple[int, int, int]) -> np.ndarray:
    out = np.zeros(shape, np.int32)
    for case, filters, rows in passes:
        glb = np.zeros(DEFAULT.glb_words, np.uint64)
        glb[: len(case.glb)] = case.glb
        out[filters, rows] = case.gather(run_pass(DEFAULT, case.descriptor, glb).sums)
    return out


@pytest.mark.parametrize(
    ("fused", "change", "message"),
    [
        (False, {"filter": None}, "no filter; add it"),
        (False, {"stride": None}, "no stride; add it"),
        (True, {"dw_min": None}, "no dw_min: pw_filter is there, so the layer is fused; add it"),
        (False, {"filters": 1}, "unknown array of a layer 'filters'; did you mean 'filter'?"),
        (False, {"ifmap": np.zeros((5, 6, 7))}, "ifmap is float64 5 x 6 x 7, must be int8; convert it"),
        (
            False,
            {"ifmap": np.zeros((5, 6), np.int8)},
            "ifmap is int8 5 x 6, must be n x n x n; change its shape",
        ),
        (False, {"ifmap": np.zeros((5, 0, 7), np.int8)}, "ifmap is int8 5 x 0 x 7, must be n x n x n"),
        (
            False,
            {"ifmap": np.zeros((4, 6, 7), np.int8)},
            "filter is int8 9 x 5 x 3 x 3, must be n x 4 x n x n",
        ),
        (
            True,
            {"filter": np.zeros((5, 2, 3, 3), np.int8)},
            "filter is int8 5 x 2 x 3 x 3, must be 5 x 1 x n x n",
        ),
        (
            False,
            {"filter": np.zeros((9, 5, 5, 3), np.int8)},
            "the kernel is 5 x 3, the array takes up to 3 x 3",
        ),
        (True, {"filter": np.zeros((5, 1, 10, 3), np.int8)}, "the kernel is 10 x 3, the array takes up to 9 x 7"),
        (False, {"ipsum": np.zeros((9, 6, 6), np.int32)}, "ipsum is int32 9 x 6 x 6, must be 9 x 6 x 7"),
        (False, {"ipsum": np.zeros((9, 6, 7))}, "ipsum is float64 9 x 6 x 7, must be int32; convert it"),
        (False, {"stride": 3}, "stride = 3: must be 1 or 2"),
        (False, {"stride": 1.0}, "stride is one float64 number, must be one integer"),
        (False, {"pad": -1}, "pad = -1: must be 0 to 1024"),
        (False, {"pad": [1, 1]}, "pad is 2 int64 numbers, must be one integer or 4 integers"),
        (
            False,
            {"pad": 0, "ifmap": np.zeros((5, 2, 7), np.int8)},
            "a 3 x 3 kernel does not fit a padded map of 2 x 7",
        ),
        (
            False,
            {"ifmap": np.zeros((5, 3, 2000), np.int8)},
            "2002 columns with padding, at most 1024 fit",
        ),
        (False, {"zero_point": 200}, "zero_point = 200: must be -128 to 127"),
        (True, {"dw_shift": np.full(5, 31)}, "dw_shift = 31: must be -31 to 30"),
        (
            True,
            {"dw_multiplier": np.full(4, 1)},
            "dw_multiplier is 4 int64 numbers, must be 5 integers",
        ),
        (True, {"dw_min": 101}, "dw_min = 101 is above dw_max = 100"),
        (False, {"e": 4, "p": 4}, "mapping without q, r, t; give all of e, p, q, r, t"),
        (False, {"e": 0, "p": 4, "q": 4, "r": 1, "t": 1}, "e = 0: must be 1 to 16"),
        (False, {"e": 4, "p": 4, "q": 5, "r": 1, "t": 1}, "q = 5: must be 1 to 4"),
    ],
)
def test_rejected_when_loaded(fused: bool, change: dict, message: str, tmp_path) -> None:
    values = good(np.random.default_rng(1), fused)
    if "ifmap" in change:
        del values["ipsum"]
    values |= change
    path = tmp_path / "case.npz"
    np.savez(path, **{name: value for name, value in values.items() if value is not None})
    with pytest.raises(BadCase) as error:
        load(path)
    assert message in str(error.value) and str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        (dict(e=16, p=4, q=4, r=1, t=2), "e = 16, r = 1, t = 2 does not fit 6 x 8 PEs"),
        (dict(e=8, p=4, q=4, r=2, t=2), "e = 8, r = 2, t = 2 does not fit 6 x 8 PEs"),
        (dict(e=12, p=4, q=4, r=1, t=1), "e = 12 is folded over the rows: must be a multiple of 8"),
    ],
)
def test_mapping_that_does_not_fit(mapping: dict[str, int], message: str, tmp_path) -> None:
    path = tmp_path / "case.npz"
    np.savez(path, **good(np.random.default_rng(1)), **mapping)
    with pytest.raises(BadCase, match="the mapping does not fit: ") as error:
        parts(load(path))
    assert message in str(error.value)


def test_too_much_for_the_glb(tmp_path) -> None:
    path = tmp_path / "case.npz"
    case, _ = case_files.convolution(np.random.default_rng(1), (4000, 3, 3), 1, (3, 3), 1, 0)
    np.savez(path, **case)
    with pytest.raises(BadCase, match=r"GLB: needs \d+ bytes, has 65536; .* fewer channels or columns"):
        parts(load(path))


def test_random_cases_on_the_pass_model(seed: int, tmp_path) -> None:
    rng, several = np.random.default_rng(seed), 0
    for n in range(60):
        channels, filters, stride = (int(v) for v in rng.integers((1, 1, 1), (40, 60, 3)))
        if n % 6 == 0:
            channels *= 8
        kernel, shape = tuple(rng.integers(1, 4, 2).tolist()), rng.integers(8, 24, 2).tolist()
        pad, zero_point = rng.integers(0, 4, 4), int(rng.choice([-128, 0, 7]))
        kind = case_files.fused if rng.random() < 0.5 else case_files.convolution
        case, expected = kind(rng, (channels, *shape), filters, kernel, stride, pad, zero_point)
        np.savez(tmp_path / "case.npz", **case)
        loaded = load(tmp_path / "case.npz")
        passes = parts(loaded)
        several += len(passes) > 1
        np.testing.assert_array_equal(sums_of(passes, loaded.shape), expected, err_msg=f"case {n}")
    assert several > 0
