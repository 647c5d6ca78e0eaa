# SPDX-License-Identifier: Apache-2.0
"""A region of an FX graph as a module: int8 tensors go to the accelerator and come back."""

from collections.abc import Collection, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from eyrie.compiler.frontend.pytorch.read import FROM_CHANNELS_LAST, TO_CHANNELS_LAST
from eyrie.model.errors import InputError
from eyrie.session import Session


class OnAccelerator(nn.Module):
    """A region as a module. It returns the outputs of the Graph in order.

    taken: for each argument, the number of its input in the Graph, or a tensor that is compiled into the program and
    must not change; maps: numbers of axes of values that are feature maps.
    """

    def __init__(self, session: Session, taken: Sequence[int | Tensor], maps: Collection[int]) -> None:
        super().__init__()
        self.session, self._maps = session, maps
        self._taken = tuple(each if isinstance(each, int) else each.detach().clone() for each in taken)

    def forward(self, *arguments: Tensor) -> Tensor | tuple[Tensor, ...]:
        """Run the region. Raise InputError, with one line, if weights have changed."""
        inputs: dict[int, np.ndarray] = {}
        for place, argument in zip(self._taken, arguments, strict=True):
            if isinstance(place, int):
                inputs[place] = to_accelerator(argument, self._maps)
            elif not torch.equal(place, argument):
                raise InputError(
                    "the model's weights have been changed since it was compiled: call torch.compiler.reset()"
                )
        outputs = self.session.run([inputs[number] for number in range(len(inputs))])
        device = arguments[0].device
        tensors = tuple(from_accelerator(output, self._maps).to(device) for output in outputs)
        return tensors if len(tensors) > 1 else tensors[0]


def to_accelerator(values: Tensor, maps: Collection[int]) -> np.ndarray:
    """Return values as [N, 1, ...], feature maps with channels last."""
    values = values.detach().cpu()
    values = values.permute(TO_CHANNELS_LAST[values.dim()]) if values.dim() in maps else values
    return values.contiguous().numpy()[:, None]


def from_accelerator(values: np.ndarray, maps: Collection[int]) -> Tensor:
    """Return values from [N, 1, ...]."""
    made = torch.from_numpy(np.array(values[:, 0]))
    return made.permute(FROM_CHANNELS_LAST[made.dim()]).contiguous() if made.dim() in maps else made
