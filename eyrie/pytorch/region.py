# SPDX-License-Identifier: Apache-2.0
"""A region of an FX graph as a module: int8 tensors go to the accelerator and come back."""

from collections.abc import Collection, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from eyrie.compiler.frontend.qdq.maps import from_accelerator, to_accelerator
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
                inputs[place] = to_accelerator(argument.detach().cpu().numpy(), self._maps)
            elif not torch.equal(place, argument):
                raise InputError(
                    "the model's weights have been changed since it was compiled: call torch.compiler.reset()"
                )
        outputs = self.session.run([inputs[number] for number in range(len(inputs))])
        device = arguments[0].device
        tensors = tuple(torch.from_numpy(from_accelerator(output, self._maps)).to(device) for output in outputs)
        return tensors if len(tensors) > 1 else tensors[0]
