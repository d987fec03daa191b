"""Everything that predicts: references first, then learned methods. A method is one file and one line here."""

METHODS = {
    "mean": "methods.mean:Mean",
    "persistence": "methods.persistence:Persistence",
    "nearest": "methods.nearest:Nearest",
    "kriging": "methods.kriging:Kriging",
    "solver": "methods.solver:Solver",
    "fno": "methods.fno:FNO",
    "pino": "methods.pino:PINO",
    "deeponet": "methods.deeponet:DeepONet",
    "pinn": "methods.pinn.method:PINN",
    "videopde": "methods.videopde.method:VideoPDE",
    "videopde_unified": "methods.videopde.method:VideoPDEUnified",
    "ablation_mixed": "methods.ablations.mixed:Mixed",
    "ablation_concat": "methods.ablations.concat:Concat",
    "ablation_latent": "methods.ablations.latent:Latent",
    "ablation_hierarchical": "methods.ablations.hierarchical:Hierarchical",
    "diffusionpde": "methods.diffusionpde.method:DiffusionPDE",
    "diffusionpde_ext": "methods.diffusionpde.ext:DiffusionPDEExt",
    "shu": "methods.shu.method:Shu",
    "zhuang": "methods.zhuang.method:Zhuang",
    "eci": "methods.eci:ECI",
}
