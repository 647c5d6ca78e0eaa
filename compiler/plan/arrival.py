# SPDX-License-Identifier: Apache-2.0
"""How long a network takes with its buffers at their places: what is loaded comes while its words are free.

The DRAM port is followed job by job, in words, not transfer by transfer as by `emit/order.py`: the search for places
asks this for each place that it tries.
"""

from heapq import heappop, heappush
from typing import NamedTuple

from eyrie.compiler.target.times import late, port_words
from eyrie.model.config import AcceleratorConfig


class Piece(NamedTuple):
    """Words that are loaded for job `need`, as soon as `free` jobs are over, the last of them perhaps in part.

    chunk  words of each chunk of filters, which come in the order in which they are used only (0: no filters)
    again  through words of their own ring, when those before them have been used
    """

    need: int
    free: float
    words: int
    chunk: int = 0
    again: bool = False


def soonest(cycles: list[int], pieces: list[Piece], config: AcceleratorConfig) -> float:
    """Return finished() if no transfer waits for its words: a lower bound for all places."""
    return finished(cycles, [piece._replace(free=0.0) for piece in pieces], config)


def finished(cycles: list[int], pieces: list[Piece], config: AcceleratorConfig) -> float:
    """When the last job ends, if each takes so many cycles when all is there.

    pieces: of filters in the order in which they are used.
    """
    whole = sorted((piece for piece in pieces if not piece.chunk), key=lambda piece: piece.free)
    stream = [piece for piece in pieces if piece.chunk]
    port, delay = port_words(config), late(config)
    left = [piece.words / port for piece in stream]  # cycles of the port
    there: list[list[float]] = []  # need and cycles of what is loaded as a whole and whose words are free
    now, taken, at = 0.0, 0, 0
    for job, least in enumerate(cycles):
        waits = at < len(stream) and stream[at].need == job and stream[at].free >= job > 0
        while taken < len(whole) and whole[taken].free < job + 1:
            waits |= whole[taken].need == job and whole[taken].free >= job > 0
            heappush(there, [whole[taken].need, whole[taken].words / port])
            taken += 1
        while there and there[0][0] <= job:
            now += heappop(there)[1]
        now += delay * waits
        own, first = 0.0, at
        if at < len(stream) and stream[at].need == job:
            begin = min(left[at], stream[at].chunk / port)
            now, left[at] = now + begin, left[at] - begin
        while at < len(stream) and stream[at].need == job:
            own += left[at]
            at += 1
        length = max(least, own)
        spare = behind = length - own
        if at > first and stream[at - 1].again:  # the last round begins when the others have been used
            words = [piece.words for piece in stream[first:at]]
            behind = min(spare, length * (1 - words[-1] / sum(words)))
        now += length
        while spare > 0:
            head = stream[at] if behind > 0 and at < len(stream) else None
            if head and not head.again and head.free < job + 1 and not (there and there[0][0] <= head.need):
                behind = min(behind, length * (job + 1 - head.free))
                part = min(left[at], spare, behind)
                left[at] -= part
                behind -= part
                at += not left[at]
            elif there:
                part = min(there[0][1], spare)
                there[0][1] -= part
                if not there[0][1]:
                    heappop(there)
            else:
                break
            spare -= part
    return now
