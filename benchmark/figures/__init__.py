"""Figures out of records and of kept predictions, as `leaderboard` makes tables: same files, same bytes. Never torch.

    plot         any figure by its name, from the files that `run` left
    reading      what a figure is made of, or the command that makes it
    style        sizes, fonts and the look of each method, shared by all figures

    error_maps   truth, sensors, answers and errors; `animation` is the same as a film
    noise_seeds  samples of one fit                 long_range   error against the length of a prediction
    spectra      energy at each wavenumber          rates        error against the observed share
    curve        error against compute, with        cost         error against seconds, Pareto fronts
    compute      its records                        calibration  spread against error, coverage

Each of these has one function, from records or predictions to a matplotlib Figure. `videos` (frames, scales of colours)
and `panels` (pictures of one field) serve those of predictions, `comparable` those of records. matplotlib is imported
when something is drawn, and its global state is left alone.
"""
