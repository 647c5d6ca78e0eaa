# SPDX-License-Identifier: Apache-2.0
"""The files beside a waveform: lists of signals for GTKWave and Surfer, and a picture of a few cycles."""

from collections.abc import Iterator
from pathlib import Path

from eyrie.compiler.files import whole_file
from eyrie.model.errors import InputError
from eyrie.runtime.report import canvas
from eyrie.runtime.simulator.moments import PERIOD_NS, begin_ns
from eyrie.runtime.trace.picture import Colours, picture
from eyrie.runtime.trace.tracks import Slice, Slices
from eyrie.runtime.waves.signals import PS_PER_NS, Signal, Waves, between

_HALF_WINDOW = 20  # cycles before and after the one in the middle
_GAP = 0.05  # cycles between two values in the picture
_NAME_WIDTH = 260  # of a signal in the picture, at most
_LEGEND = [("0", "grid"), ("1", "blue"), ("values", "teal"), ("states", "purple")]
_ZERO, _ONE = "", " "  # names of the levels of a bit: the colour shows them
_BITS, _HEX, _COMMENT = "@28", "@22", "@200"  # flags of GTKWave: binary or hexadecimal, right-justified; a comment
_GTKWAVE_ZOOM = -14.0  # shows some tens of cycles


def write_lists(folder: Path, waves: Waves, at: int | None) -> list[str]:
    """Write signals.gtkw and signals.sucl; return the commands that start the viewers with them."""
    time = None if at is None else _time(at)
    gtkwave, surfer = folder / "signals.gtkw", folder / "signals.sucl"
    for path, lines in ((gtkwave, _gtkwave(waves, time)), (surfer, _surfer(waves, time))):
        with whole_file(path) as file:
            file.writelines(f"{line}\n".encode() for line in lines)
    return [f"gtkwave {waves.path} {gtkwave}", f"surfer {waves.path} --command-file {surfer}"]


def _gtkwave(waves: Waves, time: int | None) -> Iterator[str]:
    if time is not None:
        yield f"[timestart] {max(time - _HALF_WINDOW * PERIOD_NS * PS_PER_NS, 0)}"
        yield f"*{_GTKWAVE_ZOOM} {time}{' -1' * 26}"  # zoom, the marker, and its other markers
    for group, signals in waves.groups.items():
        yield from (_COMMENT, f"-{group}")
        for signal in signals:
            yield _BITS if signal.bits == 1 or signal.names else _HEX
            yield signal.path + (f"[{signal.bits - 1}:0]" if signal.bits > 1 else "")


def _surfer(waves: Waves, time: int | None) -> Iterator[str]:
    for group, signals in waves.groups.items():
        yield f"divider_add {group}"
        yield from (f"variable_add {signal.path}" for signal in signals)
    if time is not None:
        yield from (f"cursor_set {time}", "goto_cursor")


def write_picture(folder: Path, waves: Waves, at: int) -> Path:
    """Write window.svg, the signals around a cycle; return its path. Raise InputError if the run ends before it."""
    if at >= waves.cycles:
        raise InputError(f"--at {at}: the run ends in cycle {waves.cycles - 1}: give an earlier cycle")
    begin, end = max(at - _HALF_WINDOW, 0), min(at + _HALF_WINDOW, waves.cycles)
    rows, roles = list[Slices](), dict[tuple[str, ...], str]()
    for group, signals in waves.groups.items():
        for signal in signals:
            backwards = signal.path.removeprefix(f"{waves.top}.")[::-1]
            name = (canvas.shortened(backwards, _NAME_WIDTH, canvas.SMALL)[::-1],)
            roles[name] = "purple" if group == "states" else "blue" if signal.bits == 1 else "teal"
            rows.append(Slices(name, list(_slices(signal, begin, end, roles[name] == "blue"))))
    colours = Colours(lambda track, value: "grid" if value.name == _ZERO else roles[track.path], _LEGEND)
    path = folder / "window.svg"
    with whole_file(path) as file:
        file.write(picture(f"{waves.top}, cycle {at:,}", rows, begin, end, colours, at).encode())
    return path


def _slices(signal: Signal, begin: int, end: int, bit: bool) -> Iterator[Slice]:
    """Yield the values between two cycles: levels of a bit, the names of an enum, or hexadecimal numbers."""
    for first, last, value in between(signal, _time(begin), _time(end)):
        start, stop = (begin + (time - _time(begin)) / (PERIOD_NS * PS_PER_NS) for time in (first, last))
        if bit:
            yield Slice(start, stop, _ONE if value else _ZERO)
        else:
            yield Slice(start, stop - _GAP, signal.names.get(value, f"{value:x}"))


def _time(cycle: int) -> int:
    """Return the time in ps of the edge with which a cycle begins."""
    return round(begin_ns(cycle) * PS_PER_NS)
