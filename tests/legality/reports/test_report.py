import json
from typing import Any

from polysched.legality.check import check
from polysched.legality.repairs.search import repairs
from polysched.legality.reports.answer import answer
from polysched.legality.reports.report import answer_as_json, as_json, repair_as_json
from polysched.schedule.schedule import Schedule
from tests.legality.kernels import copy_shifted, matmul, producer_consumer


def reported(schedule: Schedule, **options: int) -> dict[str, Any]:
    """What a machine reads: through text and back."""
    result: dict[str, Any] = json.loads(json.dumps(as_json(check(schedule, **options))))
    return result


def test_legal() -> None:
    report = reported(Schedule(matmul()))
    assert report["verdict"] == "legal"
    assert report["violation"] is None
    assert report["checked"]["statements"] == 2
    assert report["checked"]["accesses"] == 5
    assert report["checked"]["dependences"] > 0


def test_unknown() -> None:
    report = reported(Schedule(matmul()), quota=10)
    assert report["verdict"] == "unknown"
    assert "10 operations" in report["reason"]
    assert report["violation"] is None


def test_illegal() -> None:
    report = reported(Schedule(copy_shifted(1, -1)).split("j", 2).reverse("jo").reverse("i"))
    violation = report["violation"]
    assert report["verdict"] == "illegal"
    assert report["reason"].startswith("illegal: reverse(loop='i')")
    assert violation["what"] == "order"
    assert violation["cause"] == "loop"
    assert violation["dependence"] == "flow"
    assert violation["array"] == "A"
    assert violation["loop"] == "i"
    assert violation["step"]["index"] == 2
    assert violation["step"]["location"]["file"].endswith("test_report.py")
    assert violation["parameters"] == {"N": 5, "M": 5}
    assert violation["source"]["instance"] == [2, 3]
    assert violation["source"]["action"] == "writes"
    assert violation["source"]["element"] == [2, 3]
    assert violation["source"]["old"] == [{"loop": "i", "value": 2}, {"loop": "j", "value": 3}]
    assert violation["source"]["new"][0] == {"loop": "i", "value": -2}
    assert violation["sink"]["access"] == "A[i - 1, j - -1]"
    assert violation["because"].endswith("loop i runs -3 before -2.")


def test_a_fault_of_the_kernel_has_no_step() -> None:
    violation = reported(Schedule(copy_shifted(3, 0)))["violation"]
    assert violation["what"] == "bounds"
    assert violation["in_kernel"] is True
    assert violation["step"] is None
    assert violation["sink"] is None
    assert violation["shape"] == [4, 4]
    assert violation["source"]["element"] == [-1, 2]


def test_the_whole_answer() -> None:
    schedule = Schedule(producer_consumer(1)).fuse("P.i", "C.i")
    found = answer("here", schedule)
    record = json.loads(json.dumps(answer_as_json(found)))
    assert (record["target"], record["kernel"]) == ("here", "producer_consumer")
    (step,) = record["steps"]
    assert step["text"] == "fuse(first='P.i', second='C.i')"
    assert step["location"]["file"].endswith("test_report.py")
    assert step["location"] == record["violation"]["step"]["location"]
    verdict_alone = json.loads(json.dumps(as_json(found.verdict)))
    assert {key: record[key] for key in verdict_alone} == verdict_alone
    assert record["picture"][-1] == "A = P[1], B = C[0]"
    assert record["condition"] is None
    assert [repair["description"] for repair in record["repairs"]] == [
        repair.description for repair in found.repairs
    ]


def test_counts_of_an_illegal_schedule() -> None:
    schedule = Schedule(matmul()).promote("C", "update.j")
    legal = reported(schedule)
    illegal = reported(schedule.reverse("k"))
    assert (legal["verdict"], illegal["verdict"]) == ("legal", "illegal")
    assert illegal["checked"] == legal["checked"]
    assert illegal["checked"]["buffers"] == 1


def test_everything_that_the_text_tells_is_in_the_record() -> None:
    """Each number of the explanation stands in a field of its own, not only in the text."""
    schedule = Schedule(copy_shifted(1, -1)).split("j", 2).reverse("jo").reverse("i")
    violation = reported(schedule)["violation"]
    for end in (violation["source"], violation["sink"]):
        for when in ("old", "new"):
            assert all(set(entry) == {"loop", "value"} for entry in end[when])
        assert end["location"]["line"] > 0
    assert violation["because"] in check(schedule).reason
    assert violation["step"]["text"] in check(schedule).reason


def test_repairs() -> None:
    fused = Schedule(producer_consumer(1)).fuse("P.i", "C.i")
    shifted, parted = map(repair_as_json, repairs(fused))
    assert json.loads(json.dumps(shifted)) == {
        "description": "shift(loop='i', amount=1, statement='C') after "
        "fuse(first='P.i', second='C.i')",
        "changes": [
            {"index": 1, "removed": 0, "inserted": ["shift(loop='i', amount=1, statement='C')"]}
        ],
        "steps": ["fuse(first='P.i', second='C.i')", "shift(loop='i', amount=1, statement='C')"],
    }
    assert parted["changes"] == [{"index": 0, "removed": 1, "inserted": []}]
    assert parted["steps"] == []


def test_a_repair_of_the_kernel() -> None:
    (free,) = map(repair_as_json, repairs(Schedule(matmul()).reverse("k")))
    assert free["changes"] == [{"statement": "update", "order": "any"}]
    assert free["steps"] == ["reverse(loop='k')"]
