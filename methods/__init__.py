"""Everything that predicts, in the order of tables: references, then learned methods. One file and one line each."""

METHODS = {
    "mean": "methods.mean:Mean",
    "persistence": "methods.persistence:Persistence",
    "nearest": "methods.nearest:Nearest",
    "kriging": "methods.kriging:Kriging",
    "solver": "methods.solver:Solver",
    "videopde": "methods.videopde.method:VideoPDE",
    "videopde_unified": "methods.videopde.method:VideoPDEUnified",
    "fno": "methods.fno:FNO",
    "pino": "methods.pino:PINO",
    "deeponet": "methods.deeponet:DeepONet",
    "pinn": "methods.pinn.method:PINN",
    "diffusionpde": "methods.diffusionpde.method:DiffusionPDE",
    "diffusionpde_ext": "methods.diffusionpde.ext:DiffusionPDEExt",
    "shu": "methods.shu.method:Shu",
    "zhuang": "methods.zhuang.method:Zhuang",
    "eci": "methods.eci:ECI",
    "ablation_mixed": "methods.ablations.mixed:Mixed",
    "ablation_concat": "methods.ablations.concat:Concat",
    "ablation_latent": "methods.ablations.latent:Latent",
    "ablation_hierarchical": "methods.ablations.hierarchical:Hierarchical",
}
