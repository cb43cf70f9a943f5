import json
from typing import Any

from polysched.legality.check import check
from polysched.legality.repairs import repairs
from polysched.legality.report import as_json, repair_as_json
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
