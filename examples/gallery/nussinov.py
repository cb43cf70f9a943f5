"""RNA folding after Nussinov: the most pairs of bases, by intervals."""

# ruff: noqa: F821  (the sizes in annotations are names of their own)

import polysched as ps


@ps.kernel
def nussinov(base: "i8[n]", score: "i32[n, n]"):
    n = len(base)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            for k in range(i + 1, j):
                score[i, j] = max(score[i, j], score[i, k] + score[k + 1, j])
            score[i, j] = max(score[i, j], score[i, j - 1])
            score[i, j] = max(score[i, j], score[i + 1, j])
            if i < j - 1:
                pair = 1 if base[i] + base[j] == 3 else 0
                score[i, j] = max(score[i, j], score[i + 1, j - 1] + pair)
            else:
                score[i, j] = max(score[i, j], score[i + 1, j - 1])
