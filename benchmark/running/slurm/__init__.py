"""Cells as jobs of a Slurm cluster, each running the same code as a local run.

Records, fits and logs lie in folders that all nodes share, so locks, resume and states work as they do locally, and a
job that dies takes no other with it.

    resources   what a cell asks for: `--cluster FILE`, else what its plan estimates
    batches     what was submitted, on disk
    queue       what Slurm says of it: one `squeue` for all jobs. Accounting (`sacct`) is not needed
    submit      job arrays; cells that share a fit wait for the one that makes it
    job         what runs on a node: one cell, put back into the queue when its time is up
    wait        until every cell has a record
"""
