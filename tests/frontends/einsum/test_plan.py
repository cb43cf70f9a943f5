"""Plans of contractions: the order in which operands meet."""

from polysched.frontends.einsum.plan import make_plan


def test_the_cheap_product_comes_first() -> None:
    plan = make_plan("ij,jk,kl->il", ((300, 400), (400, 2), (2, 300)), None)
    assert [len(step.pair.summed) for step in plan.steps] == [1, 1]
    assert set(plan.steps[0].pair.result) == {"i", "k"}
    plan = make_plan("ij,jk,kl->il", ((2, 400), (400, 300), (300, 300)), None)
    assert set(plan.steps[0].pair.result) == {"i", "k"}
    plan = make_plan("ij,jk,kl->il", ((300, 300), (300, 400), (400, 2)), None)
    assert set(plan.steps[0].pair.result) == {"j", "l"}


def test_what_one_operand_alone_sums_is_summed_before() -> None:
    plan = make_plan("ij,jkl->ik", ((3, 4), (4, 5, 6)), None)
    (step,) = plan.steps
    assert [fold.operand != fold.result for fold in step.folds] == [False, True]


def test_the_last_label_of_the_result_is_a_column() -> None:
    plan = make_plan("ij,jk->ki", ((3, 4), (4, 5)), None)
    assert plan.steps[0].pair.columns == ("i",)
    assert plan.steps[0].pair.result == ("k", "i")


def test_empty_contractions() -> None:
    assert make_plan("ij,jk", ((3, 0), (0, 5)), None).is_empty
    assert make_plan("ij,jk", ((3, 0), (0, 5)), None).shape == (3, 5)
    assert not make_plan("ij", ((3, 4),), None).is_empty
