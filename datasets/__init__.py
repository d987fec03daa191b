"""The five PDEs: one file each with equation, initial-condition law and generator."""

DATASETS = {
    "wave_layer": "datasets.wave_layer:WaveLayer",
    "navier_stokes": "datasets.navier_stokes:NavierStokes",
    "kolmogorov": "datasets.kolmogorov:Kolmogorov",
    "allen_cahn": "datasets.allen_cahn:AllenCahn",
    "helmholtz": "datasets.helmholtz:Helmholtz",
}
