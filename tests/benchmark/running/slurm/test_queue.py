from benchmark.running.slurm.queue import parse_queue

LISTED = """12|3|benchmark-3fa2c1d0|RUNNING|None
12|4|benchmark-3fa2c1d0|PENDING|Resources
13|N/A|benchmark-00c1d0aa|CANCELLED|None
14|N/A|someone's own|RUNNING|None
"""


def test_jobs_by_their_place():
    queue = parse_queue(LISTED)
    assert {place: job.id for place, job in queue.items()} == {
        ("benchmark-3fa2c1d0", 3): "12_3",
        ("benchmark-3fa2c1d0", 4): "12_4",
        ("benchmark-00c1d0aa", 0): "13",
    }
    waiting, over = queue["benchmark-3fa2c1d0", 4], queue["benchmark-00c1d0aa", 0]
    assert waiting.is_active and not waiting.is_running and waiting.reason == "Resources"
    assert not over.is_active
