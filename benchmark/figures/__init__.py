"""Figures out of records, as `leaderboard` makes tables: same records, same bytes. Never imports torch.

    style     sizes, fonts and the look of each method, shared by all figures
    curve     error against compute

matplotlib is imported when something is drawn, and its global state is left alone.
"""
