"""Functions that are no kernels for a reason in their loops, branches or returns. The messages are in a golden file."""

# ruff: noqa


def bound_not_affine(x: "f32[n]"):
    n = x.shape[0]
    for i in range(n):
        for j in range(0, n + i * i):
            x[j] = 0


def bound_of_data(x: "f32[n]", ends: "i64[n]"):
    for i in range(x.shape[0]):
        for j in range(0, ends[i], 2):
            x[j] = 0


def fractional_bound(x: "f32[n]"):
    for i in range(x.shape[0] / 2):
        x[i] = 0


def step_is_no_number(x: "f32[n]", s: int):
    for i in range(0, x.shape[0], s):
        x[i] = 0


def step_is_zero(x: "f32[n]"):
    for i in range(0, x.shape[0], 0):
        x[i] = 0


def while_loop(x: "f32[n]"):
    while x[0] > 4:
        x[0] -= 1


def while_that_skips(x: "f32[n]"):
    i = 0
    while i < 4:
        x[i] = 0
        if x[i] > 0:
            i += 1


def break_in_while(x: "f32[n]"):
    i = 0
    while i < x.shape[0]:
        if x[i] > 0:
            break
        i += 1


def break_and_return(x: "f32[n]"):
    for i in range(x.shape[0]):
        if x[i] > 0:
            break
        if x[i] < -1:
            return
        x[i] = 1


def returns_of_other_lengths(x: "f32[n]"):
    for i in range(x.shape[0]):
        if x[i] > 0:
            return i, x[i]
    return -1


def path_without_return(x: "f32[n]"):
    for i in range(x.shape[0]):
        if x[i] > 0:
            return i


def enumerated_over_a_call(x: "f32[n]"):
    for i, e in enumerate(sorted(x)):
        x[i] = e


def index_used_after(x: "f32[n]"):
    for j in range(3):
        for i in range(x.shape[0]):
            x[i] = 1
        x[i] = j


def index_assigned(x: "f32[n]"):
    for i in range(x.shape[0]):
        i = i + 1
        x[i] = 1


def size_changed_in_loop(x: "f32[n]", n: int):
    for i in range(3):
        n = n + 1
        x[i] = n


def iterated_array_bound_anew(x: "f32[n]"):
    y = x.copy()
    for v in y:
        y = y + 1
        x[0] += v


def exchange_seen_by_a_function(a: "f32[n]", b: "f32[n]"):
    def first():
        return a[0]

    for i in range(3):
        b[:] = a + 1
        a, b = b, a
    b[0] = first()


def index_taken(x: "f32[n]"):
    for i in range(x.shape[0]):
        for i in range(3):
            x[i] = 1
