"""On which devices a network is trained: one process on one, or a process group with one each (DDP).

Whoever runs a fit forms the group, with `torch.distributed.init_process_group`, and every process of it calls the same
fit. (Lightning would read the environment and wait for processes that may have other things to do.)
"""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

if TYPE_CHECKING:
    from lightning_fabric import Fabric


def make_fabric(device: torch.device, precision: Any) -> Fabric:
    """For this process, which computes on `device`.

    A CPU computes in float32: few have fast bfloat16 products, and some that announce them fault on the first one.
    """
    from lightning_fabric import Fabric
    from lightning_fabric.plugins.environments.lightning import LightningEnvironment

    options: dict[str, Any] = {
        "accelerator": device.type,
        "devices": [device.index or 0] if device.type == "cuda" else 1,
        "precision": "32-true" if device.type == "cpu" else precision,
    }
    if is_shared():
        fabric = Fabric(**options, num_nodes=dist.get_world_size(), **_group())
    else:
        fabric = Fabric(**options, plugins=[LightningEnvironment()])
    fabric.launch()
    return fabric


def is_shared() -> bool:
    """Whether this process is one of a group."""
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


def _group() -> dict[str, Any]:
    """Lightning's part in a group that is there: each process counts as a node with one device."""
    from lightning_fabric.plugins.environments.torchelastic import TorchElasticEnvironment
    from lightning_fabric.strategies.ddp import DDPStrategy

    class Formed(TorchElasticEnvironment):
        def world_size(self) -> int:
            return dist.get_world_size()

        def global_rank(self) -> int:
            return dist.get_rank()

        def node_rank(self) -> int:
            return dist.get_rank()

        def local_rank(self) -> int:
            return 0

    strategy = DDPStrategy(process_group_backend=dist.get_backend(), **_constant_buffers())
    return {"strategy": strategy, "plugins": [Formed()]}


def _constant_buffers() -> dict[str, Any]:
    """Buffers hold constants: no need to send them at every step. torch 2.13 has a new word for it."""
    known = signature(DistributedDataParallel).parameters
    return {"forward_sync_buffers" if "forward_sync_buffers" in known else "broadcast_buffers": False}
