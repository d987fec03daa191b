import torch

from methods.blocks.lbfgs import minimise


def quadratics(batch=3, n=12):
    """Problems with condition numbers 1e1, 1e3, 1e5 and their solutions."""
    g = torch.Generator().manual_seed(0)
    q, _ = torch.linalg.qr(torch.randn(batch, n, n, generator=g, dtype=torch.float64))
    scale = torch.stack([torch.logspace(0, 1 + 2 * i, n, dtype=torch.float64) for i in range(batch)])
    a = q @ torch.diag_embed(scale) @ q.mT
    return a, torch.randn(batch, n, generator=g, dtype=torch.float64)


def test_quadratics_are_solved_each_at_its_own_pace():
    a, x_star = quadratics()

    def objective(x):
        e = x - x_star
        return (e[:, None] @ a @ e[:, :, None])[:, 0, 0] / 2

    found = minimise(objective, torch.zeros_like(x_star), iterations=600, tolerance=0)
    torch.testing.assert_close(found.x, x_star, rtol=1e-4, atol=1e-4)
    assert (found.value < 1e-8).all()


def test_a_problem_does_not_depend_on_its_neighbours():
    a, x_star = quadratics()

    def objective(k):
        return lambda x: ((x - x_star[k])[:, None] @ a[k] @ (x - x_star[k])[:, :, None])[:, 0, 0]

    together = minimise(objective(slice(0, 3)), torch.zeros_like(x_star), iterations=15, tolerance=0).x
    alone = minimise(objective(slice(0, 1)), torch.zeros_like(x_star[:1]), iterations=15, tolerance=0).x
    torch.testing.assert_close(together[:1], alone)


def test_rosenbrock():
    def objective(x):
        return (1 - x[:, 0]) ** 2 + 100 * (x[:, 1] - x[:, 0] ** 2) ** 2

    start = torch.tensor([[-1.2, 1.0], [0.0, 0.0]], dtype=torch.float64)
    torch.testing.assert_close(minimise(objective, start, 100, tolerance=0).x, torch.ones_like(start))


def test_a_step_into_nonsense_is_taken_back():
    def objective(x):  # not a number beyond 0.5; the minimum is at 0.4
        return -x[:, 0] - 0.1 * torch.log(0.5 - x[:, 0])

    found = minimise(objective, torch.zeros(1, 1, dtype=torch.float64), 20)
    assert abs(found.x.item() - 0.4) < 1e-3


def test_evaluations_are_counted_and_it_stops_when_nothing_improves():
    calls = []

    def objective(x):
        calls.append(1)
        return (x**2).sum(1)

    found = minimise(objective, torch.zeros(2, 3), iterations=50)
    assert found.evaluations == len(calls) <= 10
