import torch

from skmde.core.objectives.proximal import Proximal


def test_proximal_term_is_half_the_stiffness_times_the_squared_distance():
    center = torch.tensor([[1.0, 2.0], [0.0, -1.0]], dtype=torch.float64)
    X = torch.tensor([[2.0, 2.0], [0.0, 1.0]], dtype=torch.float64)
    value, gradient = Proximal(center, 3.0).value_and_gradient(X)
    assert float(value) == 0.5 * 3 * (1 + 4)
    assert torch.equal(gradient, 3 * (X - center))
