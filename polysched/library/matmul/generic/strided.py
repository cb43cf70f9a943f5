"""A product of arrays with strides, as size-generic kernels compute it."""

from __future__ import annotations

from typing import NamedTuple

FEW_COLUMNS = 4
"""Columns, at most, that are computed as rows of the transposed product, by dot products."""


class Strided(NamedTuple):
    """A product of arrays with strides, in elements: ``out[m, n] = a[m, k] @ b[k, n]``."""

    m: int
    n: int
    k: int
    a_row: int
    a_term: int
    b_term: int
    b_column: int
    out_row: int
    out_column: int

    @property
    def transposed(self) -> Strided:
        """The product of the transposed operands in reverse order."""
        return Strided(
            *(self.n, self.m, self.k, self.b_column, self.b_term),
            *(self.a_term, self.a_row, self.out_column, self.out_row),
        )


def of_one_row(product: Strided) -> Strided:
    """Give arrays of a single row the row stride for which the kernels are proved."""
    if product.m == 1:
        a_row, out_row = product.k * product.a_term, product.n * product.out_column
        product = product._replace(a_row=a_row, out_row=out_row)
    if product.k == 1 and product.b_column == 1:
        product = product._replace(b_term=product.n)
    return product


def pays_swapped(product: Strided) -> bool:
    """Whether few columns are computed as rows, by dot products with the rows of ``a``."""
    is_narrow = product.n <= FEW_COLUMNS and product.n < product.m
    return is_narrow and product.a_term == 1 and product.k >= 64
