import pytest
import torch

from methods.blocks.overlap import cut, joined


def test_windows_are_all_runs_of_so_many_frames():
    windows = cut(torch.arange(5.0)[None, :, None].expand(2, 5, 4), 3)
    assert windows.shape == (2, 3, 3, 4)
    assert windows[0, :, :, 0].tolist() == [[0, 1, 2], [1, 2, 3], [2, 3, 4]]


@pytest.mark.parametrize("frames, total", [(2, 2), (3, 3), (3, 7), (5, 5), (5, 9)])
def test_each_frame_comes_from_the_window_whose_centre_it_is(frames, total):
    k, count = frames // 2, total - frames + 1
    window, place = torch.meshgrid(torch.arange(count), torch.arange(frames), indexing="ij")
    found = joined(torch.stack([window, place], -1)[None])[0].tolist()  # (T, 2): the window, the place in it
    starts = [min(max(t - k, 0), count - 1) for t in range(total)]
    assert found == [[start, t - start] for t, start in enumerate(starts)]
