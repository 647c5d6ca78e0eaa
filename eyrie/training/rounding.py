# SPDX-License-Identifier: Apache-2.0
"""Round the weights of a layer to a few bits, or many of them to zero, and keep its sums.

Columns of the weights are rounded one after another. The columns that follow make up for the error, as far as the
inputs of calibration images allow: GPTQ (Frantar et al., arXiv:2210.17323), and SparseGPT (Frantar and Alistarh,
arXiv:2301.00774) for the zeros.
"""

import torch
from torch.nn import functional

DAMPING = 0.01  # of the mean diagonal, added to it: inputs that hardly vary must not ask for huge corrections
ZEROS_AT_A_TIME = 128  # columns whose zeros are chosen together, after the correction of earlier columns
NARROWEST, STEPS = 0.5, 26  # smallest clipping range tried, as a fraction of the largest weight, and how many
BATCH = 64  # images whose inputs are unfolded at a time


def input_products(x: torch.Tensor, kernel: int, stride: int, groups: int) -> torch.Tensor:
    """Return the sums of products of a layer's inputs, float64 [groups, K, K] with K = C / groups x R x S.

    x: real inputs [N, C, H, W]; kernel: rows and columns of the window, with kernel // 2 zeros around the map.
    """
    total = torch.zeros(())
    for part in x.split(BATCH):
        windows = functional.unfold(part, kernel, padding=kernel // 2, stride=stride)
        columns = windows.unflatten(1, (groups, -1)).permute(1, 2, 0, 3).flatten(2).double()
        total = total + columns @ columns.mT
    return total


def clipping_scale(weight: torch.Tensor, largest: int) -> torch.Tensor:
    """Return the scale of each output channel, [..., 1], with the least squared error of weights [..., K]."""
    top = weight.abs().amax(-1, keepdim=True) / largest
    scales = torch.linspace(NARROWEST, 1, STEPS, dtype=weight.dtype).reshape(-1, *[1] * weight.dim()) * top
    scales = scales.clamp(min=torch.finfo(torch.float32).tiny)  # of a channel without weights
    rounded = (weight / scales).round().clamp(-largest, largest) * scales
    best = (rounded - weight).square().sum(-1, keepdim=True).argmin(0, keepdim=True)
    return scales.gather(0, best).squeeze(0)


def round_weights(
    weight: torch.Tensor, products: torch.Tensor, scale: torch.Tensor, largest: int, zeros: float
) -> torch.Tensor:
    """Return weights as whole numbers of `scale`, from -largest to largest, same shape as `weight`.

    weight: float64 [groups, M / groups, K]; products: of `input_products`; scale: [groups, M / groups, 1]; zeros: the
    fraction of the weights that become zero at least.
    """
    diagonal = products.diagonal(dim1=-2, dim2=-1)
    order = diagonal.sum(0).argsort(descending=True, stable=True)  # the largest inputs first: others make up for them
    damping = (DAMPING * diagonal.mean(-1)).clamp(min=torch.finfo(weight.dtype).tiny)
    products = products[:, order][:, :, order] + damping[:, None, None] * torch.eye(len(order), dtype=weight.dtype)
    factor = torch.linalg.cholesky(torch.linalg.inv(products), upper=True)
    rest, result = weight[..., order].clone(), torch.zeros_like(weight)
    width = weight.shape[-1]
    for column in range(width):
        if column % ZEROS_AT_A_TIME == 0:
            block = slice(column, min(column + ZEROS_AT_A_TIME, width))
            dropped = _least(rest[..., block], factor[:, block, block].diagonal(dim1=-2, dim2=-1), zeros)
        values = (rest[..., column] / scale[..., 0]).round().clamp(-largest, largest)
        values = values.masked_fill(dropped[..., column % ZEROS_AT_A_TIME], 0)
        result[..., order[column]] = values
        error = (rest[..., column] - values * scale[..., 0]) / factor[:, None, column, column]
        rest[..., column:] -= error[..., None] * factor[:, None, column, column:]
    return result


def _least(weight: torch.Tensor, factor: torch.Tensor, zeros: float) -> torch.Tensor:
    """Return a mask of the weights [groups, M / groups, columns] whose loss costs least, the fraction `zeros`."""
    loss = (weight / factor[:, None]).square().flatten()
    count = round(zeros * loss.numel())
    mask = torch.zeros_like(loss, dtype=torch.bool)
    mask[loss.argsort(stable=True)[:count]] = True
    return mask.view_as(weight)
