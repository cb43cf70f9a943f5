from polysched.bench.calls import SIZE, calls, measure_calls


def test_every_call_is_timed() -> None:
    told: list[str] = []
    times = measure_calls(2, progress=told.append)
    assert [time.call for time in times] == told == list(calls())
    assert all(time.nanoseconds > 0 for time in times)
    assert times[0].call == "kernel(x, y, out)"


def test_calls_compute_the_sum() -> None:
    timed = calls()
    for name in ("kernel(x, y, out)", "call(), bound", "parallel kernel(x, y, out, threads=1)"):
        assert timed[name]().tolist() == [2] * SIZE
