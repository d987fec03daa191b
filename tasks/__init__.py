"""What is seen of a trajectory: sensors at all frames, one frame in full, or a few points of one frame."""

TASKS = {
    "cont_05": "tasks.observation:CONT_05",
    "cont_1": "tasks.observation:CONT_1",
    "cont_3": "tasks.observation:CONT_3",
    "fwd_full": "tasks.observation:FWD_FULL",
    "inv_full": "tasks.observation:INV_FULL",
    "fwd_partial": "tasks.observation:FWD_PARTIAL",
    "inv_partial": "tasks.observation:INV_PARTIAL",
    "long_range": "tasks.observation:LONG_RANGE",
}

SUMMARIES = {
    "cont_05": "0.5 % of the sites, seen at all frames",
    "cont_1": "1 % of the sites, seen at all frames",
    "cont_3": "3 % of the sites, seen at all frames",
    "fwd_full": "the first frame; predict the rest",
    "inv_full": "the last frame; predict the rest",
    "fwd_partial": "3 % of the first frame",
    "inv_partial": "3 % of the last frame",
    "long_range": "the first frame of a trajectory longer than those trained on",
}
