import base64
import zlib

from benchmark.leaderboard.page.chunks import Chunk, Chunks


def test_equal_bytes_are_stored_once():
    chunks = Chunks()
    numbers = [chunks.add(Chunk.of(content)) for content in (b"one", b"two", b"one")]
    assert numbers == [0, 1, 0] and len(chunks.texts) == 2


def test_a_browser_can_read_them():
    chunks = Chunks()
    chunks.add_json({"é": [1.5, None]})
    assert zlib.decompress(base64.b64decode(chunks.texts[0])).decode() == '{"é":[1.5,null]}'
