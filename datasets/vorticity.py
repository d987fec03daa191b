"""Two-dimensional incompressible flow on a periodic square, pseudo-spectral, fourth order in time.

    w_t + v . grad w = nu Lap w - drag w + f,    v = (psi_y, -psi_x),  Lap psi = -w.

The state holds the Fourier modes |k_x|, |k_y| <= K < N / 3 only, so that products are free of aliases (2/3 rule),
in centred order: entry (i, j) is wavenumber (i - K, j - K), and k -> -k is a flip of both axes.

One complex field carries the velocity, z = v_x + i v_y, and one transform each way its products, because
z^2 = v_x^2 - v_y^2 + 2i v_x v_y and

    v . grad w = curl div (v v^T) = 1/2 Im (d_x - i d_y)^2 z^2.

In centred order a field and its transform differ from the usual ones by the sign (-1)^(i+j), which squaring removes.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from benchmark.core import Grid
from benchmark.core.equation import Equation
from benchmark.core.operators import Derivative, Fourier


class VorticityFlow:
    """The flow's constants as tensors; `solve` is differentiable in its first frame."""

    def __init__(
        self,
        n: int,
        length: float,
        nu: float,
        drag: float = 0.0,
        forcing: Callable[[Tensor, Tensor], Tensor] | None = None,
        dtype: torch.dtype = torch.float32,
        device: Any = "cpu",
    ):
        if n % 2 or n < 8:
            raise ValueError(f"resolution: expected an even number of points, 8 or more, got {n}")
        self.n, self.length, self.cutoff = n, length, (n - 1) // 3  # 3 K < N: K + K aliases to beyond -K
        self.margin = n // 2 - self.cutoff  # where the centred modes start in a centred spectrum
        k = 2 * torch.pi / length * torch.arange(-self.cutoff, self.cutoff + 1, dtype=torch.float64)
        kx, ky = k[:, None], k[None, :]
        k2 = kx**2 + ky**2
        inverse = torch.where(k2 > 0, 1 / k2, 0.0)
        self.dtype, self.device = dtype, device
        i = torch.arange(n, dtype=torch.float64)
        self.sign = self._pairs(1 - 2 * ((i[:, None] + i) % 2))  # (N, N, 2)
        self.velocity = torch.complex(kx * inverse, ky * inverse).to(device, dtype.to_complex())  # z_hat / w_hat
        self.advect = self._advection_symbol(kx, ky).to(device, dtype.to_complex())
        self.conj = self._pairs(torch.ones_like(k2)) * torch.tensor([1.0, -1.0], dtype=dtype, device=device)
        self.decay = self._pairs(-nu * k2 - drag)  # (2K+1, 2K+1, 2), the linear part, exact in time
        self.one = torch.ones_like(self.advect)
        self.half_force = torch.zeros_like(self.advect)
        if forcing is not None:
            x = length / n * i
            self.half_force = self.modes(forcing(x[:, None], x[None, :])[None].to(device, dtype))[0] / 2
        self._buffer = torch.empty(0, n, n, dtype=dtype.to_complex(), device=device)
        self._factors: dict[float, tuple[Tensor, Tensor]] = {}

    def _pairs(self, f: Tensor) -> Tensor:
        """A real factor of a complex field, once for its real and once for its imaginary part."""
        return torch.stack([f, f], dim=-1).to(self.device, self.dtype)

    @staticmethod
    def _advection_symbol(kx: Tensor, ky: Tensor) -> Tensor:
        """F(z^2) -> half of -v . grad w: with the conjugate at -k added, -1/2 Im (d_x - i d_y)^2 z^2."""
        kx, ky = torch.broadcast_tensors(kx, ky)
        return -0.25j * torch.complex(kx, -ky) ** 2

    def modes(self, w: Tensor) -> Tensor:
        """(B, N, N) real or complex -> centred modes (B, 2K+1, 2K+1); what lies above K is cut."""
        w = w if w.is_complex() else torch.complex(w, torch.zeros_like(w))
        return self._centred(w)

    def _centred(self, z: Tensor) -> Tensor:
        m, size = self.margin, 2 * self.cutoff + 1
        z = torch.view_as_complex(torch.view_as_real(z) * self.sign)
        return torch.fft.fft2(z, norm="forward")[..., m : m + size, m : m + size]

    def field(self, w_hat: Tensor) -> Tensor:
        """Centred modes -> (B, N, N)."""
        return torch.fft.ifft2(self._pad(self.one, w_hat), norm="forward").real * self.sign[..., 0]

    def _pad(self, factor: Tensor | float, w_hat: Tensor) -> Tensor:
        """factor * w_hat in a centred spectrum (B, N, N), zero above the cutoff."""
        m, size = self.margin, 2 * self.cutoff + 1
        if w_hat.requires_grad:
            return torch.nn.functional.pad(factor * w_hat, (m, m - 1, m, m - 1))
        if len(self._buffer) != len(w_hat):  # kept between calls: its margin stays zero
            self._buffer = w_hat.new_zeros(len(w_hat), self.n, self.n)
        torch.mul(factor, w_hat, out=self._buffer[:, m : m + size, m : m + size])
        return self._buffer

    def tendency(self, w_hat: Tensor) -> Tensor:
        """-v . grad w + f in Fourier space, as pairs of real numbers (B, 2K+1, 2K+1, 2)."""
        z = torch.fft.ifft2(self._pad(self.velocity, w_hat), norm="forward")  # (B, N, N), times the sign
        q = torch.view_as_real(torch.addcmul(self.half_force, self._centred(z * z), self.advect))
        return torch.addcmul(q, q.flip(-3, -2), self.conj)  # of the complex field keep the real part

    def step(self, w_hat: Tensor, dt: float) -> Tensor:
        """One step of the classical Runge-Kutta scheme in the variable exp(-decay t) w_hat (IFRK4)."""
        if dt not in self._factors:
            half = torch.exp(self.decay * (dt / 2))
            self._factors[dt] = (half, half * half)
        half, full = self._factors[dt]

        def tendency(w: Tensor) -> Tensor:
            return self.tendency(torch.view_as_complex(w))

        w = torch.view_as_real(w_hat)
        k1 = tendency(w)
        damped = half * w
        k2 = tendency(torch.addcmul(damped, half, k1, value=dt / 2))
        k3 = tendency(torch.add(damped, k2, alpha=dt / 2))
        damped = half * damped
        k4 = tendency(torch.addcmul(damped, half, k3, value=dt))
        w = torch.addcmul(damped, full, k1, value=dt / 6).addcmul_(half, k2 + k3, value=dt / 3).add_(k4, alpha=dt / 6)
        return torch.view_as_complex(w)

    def solve(self, w0: Tensor, times: Sequence[float], max_dt: float) -> Tensor:
        """Frames (B, T, N, N) at the given times, the first of which is w0 (B, N, N) without its modes above K."""
        return self.frames(self.modes(w0), times, max_dt)

    def frames(self, w_hat: Tensor, times: Sequence[float], max_dt: float) -> Tensor:
        """The same from centred modes."""
        frames = [self.field(w_hat)]
        for start, stop in zip(times, times[1:], strict=False):
            w_hat = self.advance(w_hat, stop - start, max_dt)
            frames.append(self.field(w_hat))
        return torch.stack(frames, dim=1)

    def advance(self, w_hat: Tensor, duration: float, max_dt: float) -> Tensor:
        steps = max(1, math.ceil(duration / max_dt - 1e-9))
        dt = round(duration / steps, 12)  # the same key for frames that differ in the last bits
        for _ in range(steps):
            w_hat = self.step(w_hat, dt)
        return w_hat


@dataclass(frozen=True)
class VorticityEquation(Equation):
    """w_t + v . grad w - nu Lap w + drag w - f = 0, with the stream function psi as second unknown."""

    formula: ClassVar[str] = "w_t + v.grad w = nu Lap w - drag w + f,  v = (psi_y, -psi_x),  Lap psi = -w"
    unknowns: ClassVar[tuple[str, ...]] = ("w", "psi")

    length: float
    nu: float
    drag: float
    max_dt: float

    @abstractmethod
    def forcing(self, x: Tensor, y: Tensor) -> Tensor: ...

    def space_terms(self, fields: Mapping[str, Tensor], static: Tensor | None, d: Derivative) -> dict[str, Tensor]:
        w, psi = fields["w"], fields["psi"]
        terms = {
            "advection": d.product(d(psi, "y"), d(w, "x")) - d.product(d(psi, "x"), d(w, "y")),
            "diffusion": -self.nu * (d(w, "xx") + d(w, "yy")),
            "forcing": -self.forcing(d.x, d.y),
        }
        return terms | ({"drag": self.drag * w} if self.drag else {})

    def closure(self, fields: Mapping[str, Tensor], d: Derivative) -> dict[str, Tensor]:
        psi = fields["psi"]
        return {"stream function": fields["w"] + d(psi, "xx") + d(psi, "yy")}

    def derive(self, u: Tensor, grid: Grid) -> dict[str, Tensor]:
        w = u[..., 0]
        return {"w": w, "psi": -Fourier(grid, w).inverse_laplacian(w)}

    def flow(self, n: int, dtype: torch.dtype, device: Any) -> VorticityFlow:
        return VorticityFlow(n, self.length, self.nu, self.drag, self.forcing, dtype, device)

    def solve(self, first: Tensor, static: Tensor | None, grid: Grid) -> Tensor:
        flow = self.flow(grid.shape[0], first.dtype, first.device)
        return flow.solve(first[..., 0], grid.times, self.max_dt)[..., None]
