"""What is set by hand for compilers is what torch's own functions set, which load its whole compiler."""

import torch

from posenc.tracing import constant_in_graphs, with_fixed_sizes


def test_torch_takes_for_a_constant_what_we_mark():
    def function():
        return (1,)

    torch.compiler.assume_constant_result(function)

    assert vars(function) == vars(constant_in_graphs(lambda: (1,)))


def test_torch_takes_the_sizes_as_they_are_of_what_we_mark():
    ours, theirs = with_fixed_sizes(torch.zeros(2, 3)), torch.zeros(2, 3)

    torch._dynamo.mark_static(theirs)

    assert vars(ours) == vars(theirs)
