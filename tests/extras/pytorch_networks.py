# SPDX-License-Identifier: Apache-2.0
"""Small networks in PyTorch, trained for a moment on stripes of four directions, so that their answers have margins."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

SIZE, CLASSES, STEPS, BATCH = 16, 4, 60, 64


def stripes(count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Noisy images float32 [N, 3, SIZE, SIZE] and which of four directions their stripes have."""
    random = torch.Generator().manual_seed(seed)
    labels = torch.randint(CLASSES, (count,), generator=random)
    places = torch.arange(SIZE, dtype=torch.float32)
    angles = labels * math.pi / CLASSES + 0.1 * torch.randn(count, generator=random)
    along = angles.cos()[:, None, None] * places[None, :, None] + angles.sin()[:, None, None] * places[None, None, :]
    phase = 2 * math.pi * torch.rand(count, 1, 1, generator=random)
    images = torch.sin(1.3 * along + phase)[:, None].repeat(1, 3, 1, 1)
    return images + 0.4 * torch.randn(images.shape, generator=random), labels


@torch.enable_grad()
def trained(model: nn.Module, seed: int) -> nn.Module:
    torch.set_num_threads(1)  # threads that wait for each other take hundreds of times as long on a busy computer
    torch.manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), 0.003)
    model.train()
    for step in range(STEPS):
        images, labels = stripes(BATCH, seed + step)
        optimizer.zero_grad()
        functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
    return model.eval()


def conv(c_in: int, c_out: int, kernel: int = 1, stride: int = 1, groups: int = 1) -> list[nn.Module]:
    return [nn.Conv2d(c_in, c_out, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(c_out)]


class Inverted(nn.Module):
    """A block of MobileNetV2."""

    def __init__(self, c_in: int, c_out: int, stride: int, expansion: int) -> None:
        super().__init__()
        inner = c_in * expansion
        wide = [*conv(c_in, inner), nn.ReLU6()] if expansion > 1 else []
        self.layers = nn.Sequential(*wide, *conv(inner, inner, 3, stride, inner), nn.ReLU6(), *conv(inner, c_out))
        self.adds = stride == 1 and c_in == c_out

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x) if self.adds else self.layers(x)


class MobileNetV2(nn.Module):
    """As Sandler et al. have it (arXiv:1801.04381), small."""

    def __init__(self) -> None:
        super().__init__()
        blocks, c_in = [], 8
        for expansion, channels, count, stride in ((1, 8, 1, 1), (4, 12, 2, 2), (4, 16, 2, 1)):
            for number in range(count):
                blocks.append(Inverted(c_in, channels, stride if number == 0 else 1, expansion))
                c_in = channels
        self.features = nn.Sequential(*conv(3, 8, 3), nn.ReLU6(), *blocks, *conv(c_in, 48), nn.ReLU6())
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(48, CLASSES))

    def forward(self, x: Tensor) -> Tensor:
        x = functional.adaptive_avg_pool2d(self.features(x), (1, 1))
        return self.classifier(torch.flatten(x, 1))


class Residual(nn.Module):
    """A block of a ResNet."""

    def __init__(self, c_in: int, c_out: int, stride: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(*conv(c_in, c_out, 3, stride), nn.ReLU(), *conv(c_out, c_out, 3))
        self.short = nn.Sequential(*conv(c_in, c_out, 1, stride)) if stride > 1 or c_in != c_out else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.layers(x) + self.short(x))


class ResNet8(nn.Module):
    """Three blocks, as MLPerf Tiny has it, with half the channels."""

    def __init__(self) -> None:
        super().__init__()
        blocks = Residual(8, 8, 1), Residual(8, 16, 2), Residual(16, 32, 2)
        self.features = nn.Sequential(*conv(3, 8, 3), nn.ReLU(), *blocks)
        self.classifier = nn.Linear(32, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x).mean((2, 3)))


class UNet(nn.Module):
    """Half the size and back by a transposed convolution, with a shortcut."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(*conv(3, 8, 3), nn.ReLU())
        self.down = nn.Sequential(*conv(8, 16, 3, 2), nn.ReLU())
        self.up = nn.Sequential(nn.ConvTranspose2d(16, 8, 3, 2, 1, output_padding=1), nn.ReLU())
        self.last = nn.Sequential(*conv(16, 16, 3), nn.ReLU(), *conv(16, 16), nn.ReLU(), *conv(16, 16, 3), nn.ReLU())
        self.classifier = nn.Linear(16, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        x = self.last(torch.cat([x, self.up(self.down(x))], 1))
        return self.classifier(x.mean((2, 3)))


class WithTransform(nn.Module):
    """A layer in the middle that the accelerator does not have: the power of a Fourier transform of the rows."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(*conv(3, 8, 3), nn.ReLU())
        self.second = nn.Sequential(*conv(8, 16, 3, 2), nn.ReLU())
        self.classifier = nn.Linear(16, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.fft.fft(self.first(x), norm="ortho").abs()
        return self.classifier(self.second(x).mean((2, 3)))


class TwoWays(nn.Module):
    """Half of the channels through a function that the accelerator does not have."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(8, 4, 1)

    def forward(self, x: Tensor) -> Tensor:
        one, other = torch.split(self.first(x), 8, 1)
        joined = torch.erfinv(torch.sigmoid(one) * 0.9) + torch.relu(other)[:, :, :, :]
        return self.last(joined)
