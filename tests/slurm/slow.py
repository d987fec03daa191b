"""A plugin for tests: a U-Net of the suite whose training is slow as long as a file is there.

SLOW_FOLDER holds that file, `slow`, and a log of the processes that made each training step.
"""

import os
import time
from dataclasses import replace
from pathlib import Path

from methods.voronoi_unet import SMOKE, VoronoiUNet


class SlowUNet(VoronoiUNet):
    profiles = {"smoke": replace(SMOKE, training=replace(SMOKE.training, checkpoint_seconds=0.5))}

    def losses(self, network, batch, draws):
        folder = Path(os.environ["SLOW_FOLDER"])
        if network.training:
            with (folder / "steps").open("a") as file:
                file.write(f"{os.getpid()}\n")
            if (folder / "slow").exists():
                time.sleep(0.5)
        return super().losses(network, batch, draws)


METHODS = {"slow_unet": SlowUNet}
