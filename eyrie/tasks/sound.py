# SPDX-License-Identifier: Apache-2.0
"""Sounds as input of a network: samples, or features that another model computes from windows of samples."""

import io
import math
import wave
from os import PathLike
from pathlib import Path

import numpy as np

from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.tensor import Quantized, Tensor
from eyrie.model.errors import InputError
from eyrie.model.operators.host import quantize
from eyrie.model.reading import read_file
from eyrie.runtime.inputs import file_type, in_file
from eyrie.session import Session

RATE = 16_000  # samples a second of the networks of this kind
STEP = 320  # samples from window to window: 20 ms, as in micro_speech of tflite-micro
LEAST_SAMPLES = RATE // 2  # of a vector that is taken for samples, and not for features
REMEDY = f"ffmpeg -i FILE -ac 1 -ar {RATE} -c:a pcm_s16le sound.wav converts a sound"


def sound_input(sound: str | PathLike, graph: Graph, front_end: Session | None) -> tuple[np.ndarray, list[str]]:
    """Convert a .wav file to the input of a network.

    front_end: a session of the model that computes the features of one window, or None for a network that takes
    samples. Return the input, [1, ...] in the model's type, and notes, a sentence each. Raise InputError, with one
    line, if the file is no mono sound of 16 bits and 16 kHz, or the input or the front end does not fit.
    """
    if len(graph.arguments) != 1 or graph.start:
        raise InputError("the network keeps a state or has several inputs: no network for one sound")
    samples = read_sound(sound)
    if front_end is None:
        return _samples_input(samples, graph.input)
    return _features_input(samples, graph.input, front_end)


def read_sound(sound: str | PathLike) -> np.ndarray:
    """Return the samples of a .wav file, int16 [N]. Raise InputError, with one line."""
    contents = read_file(Path(sound), "give a .wav file")
    try:
        with wave.open(io.BytesIO(contents)) as file:
            form = (file.getnchannels(), 8 * file.getsampwidth(), file.getframerate())
            frames = file.readframes(file.getnframes())
    except (wave.Error, EOFError, OSError) as error:
        raise InputError(f"{sound}: no .wav file of PCM samples: {REMEDY}") from error
    if form != (1, 16, RATE):
        raise InputError(
            f"{sound}: channels {form[0]}, bits {form[1]}, rate {form[2]:,} Hz; must be 1, 16 and {RATE:,} Hz: {REMEDY}"
        )
    return np.frombuffer(frames[: len(frames) // 2 * 2], "<i2").astype(np.int16)


def _samples_input(samples: np.ndarray, tensor: Tensor) -> tuple[np.ndarray, list[str]]:
    """Return samples as the input of a network: int16 as they are, real numbers from -1 to 1."""
    if tensor.size not in tensor.shape or tensor.size < LEAST_SAMPLES:
        raise InputError(
            f"input {tensor.name} is {tensor.form}: no samples of half a second or more; name the model that computes "
            "its features (--front-end)"
        )
    taken, notes = _cut(samples, tensor.size)
    taken = taken.reshape(1, *tensor.shape)
    scaled = taken.astype(np.float32) / 32768
    if isinstance(tensor, Quantized) and tensor.dtype == "int8":
        return in_file(quantize(scaled, tensor.quantization), tensor), notes
    if tensor.dtype not in ("int16", "float32") or (tensor.dtype == "int16" and isinstance(tensor, Quantized)):
        raise InputError(f"input {tensor.name} is {tensor.form}: no samples that are known; give arrays (eyrie run)")
    return (taken if tensor.dtype == "int16" else scaled), notes


def _features_input(samples: np.ndarray, tensor: Tensor, front_end: Session) -> tuple[np.ndarray, list[str]]:
    """Return the features of windows of samples as the input of a network."""
    about = f"front end {front_end.name}"
    if len(front_end.inputs) != 1 or len(front_end.outputs) != 1:
        raise InputError(f"{about}: has several inputs or outputs: give the model of the features of one window")
    window, made = front_end.graph.input, front_end.graph.output
    if window.dtype != "int16" or window.size not in window.shape:
        raise InputError(f"{about}: input {window.name} is {window.form}, must be a window of int16 samples")
    rows, rest = divmod(tensor.size, made.size)
    in_rows = tensor.size in tensor.shape or made.size in tensor.shape
    if rest or not in_rows or file_type(made) != file_type(tensor):
        raise InputError(
            f"{about}: makes {made.form} of a window: no row of the network's input {tensor.name}, {tensor.form}"
        )
    if isinstance(made, Quantized) and isinstance(tensor, Quantized) and not _alike(made, tensor):
        raise InputError(
            f"{about}: its output has {_scale(made)}, the network's input {_scale(tensor)}: give the front end of this "
            "network"
        )
    taken, notes = _cut(samples, window.size + (rows - 1) * STEP)
    windows = np.lib.stride_tricks.sliding_window_view(taken, window.size)[::STEP]
    front_end.reset()
    [features] = front_end.run([windows.reshape(rows, *window.shape)])
    unknown = "" if isinstance(made, Quantized) else ", whose output has no scale to compare with the network's"
    notes.append(f"features of {rows} windows of {window.size} samples, one each {STEP}, by {front_end.name}{unknown}")
    return features.reshape(1, *tensor.shape), notes


def _alike(first: Quantized, second: Quantized) -> bool:
    """Return whether two tensors have the same zero point and nearly the same scale."""
    scales = first.quantization.scale, second.quantization.scale
    return first.zero_point == second.zero_point and math.isclose(*scales, rel_tol=0.01)


def _scale(tensor: Quantized) -> str:
    return f"scale {tensor.quantization.scale:.6g} and zero point {tensor.zero_point}"


def _cut(samples: np.ndarray, count: int) -> tuple[np.ndarray, list[str]]:
    """Return the first `count` samples, with silence after the last one if there are fewer."""
    if len(samples) < count:
        note = f"{len(samples) / RATE:.2f} s: silence was added up to {count / RATE:.2f} s"
        return np.pad(samples, (0, count - len(samples))), [note]
    return samples[:count], [f"{len(samples) / RATE:.2f} s: the first {count / RATE:.2f} s were taken"] * (
        len(samples) - count > STEP
    )
