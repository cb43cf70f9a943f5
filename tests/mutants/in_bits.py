"""Wrong versions of packed arrays: their bits, their bytes, and the threads that share these."""

from tests.mutants.mutant import Mutant

PACKED = "polysched/codegen/subbyte/accesses.py"
SINGLE = "polysched/codegen/subbyte/single.py"
LAYOUT = "polysched/codegen/subbyte/layout.py"
COLUMNS = "polysched/codegen/subbyte/columns.py"
DOUBLING = "polysched/codegen/subbyte/doubling.py"
MULTIPLY_ADD = "polysched/codegen/subbyte/multiply_add.py"
MULTISHIFT = "polysched/codegen/subbyte/multishift.py"
CONVERSION = "polysched/codegen/subbyte/conversion.py"
SHARED = "polysched/legality/checks/shared_bytes.py"
BYTES = "polysched/legality/checks/bit_layout.py"
CHECK = "polysched/legality/check.py"
STRATEGIES = ("tests/codegen/subbyte/test_strategies.py",)
KERNELS = ("tests/codegen/subbyte/test_accesses.py",)
PAGES = ("tests/codegen/test_memory.py",)
THREADS = ("tests/legality/checks/test_shared_bytes.py",)

MUTANTS = (
    Mutant(
        "bits-neighbors-lost",
        "a store of a part of a byte clears the rest of it",
        SINGLE,
        "merged = builder.or_(builder.and_(old, builder.not_(own)), new)",
        "merged = builder.or_(builder.and_(old, builder.not_(builder.or_(own, old))), new)",
        KERNELS,
    ),
    Mutant(
        "bits-beyond-the-array",
        "an element is read with the byte behind its last one",
        SINGLE,
        'result.append(intrinsic(builder, "smin", [place, last]))',
        "result.append(place)",
        PAGES,
    ),
    Mutant(
        "bits-scattered-unmasked",
        "lanes that do not run are written too",
        SINGLE,
        "            if mask is None:\n",
        "            if mask is not number:\n",
        KERNELS,
    ),
    Mutant(
        "bits-merge-whole",
        "the lanes that do not run are written with those in their bytes",
        PACKED,
        "kept = builder.and_(masked_load(builder, pointer, mask, alignment), builder.not_(chosen))",
        "kept = builder.and_(masked_load(builder, pointer, mask, alignment), chosen)",
        KERNELS,
    ),
    Mutant(
        "bits-phase-forgotten",
        "a vector that begins inside a byte is read from the byte's start",
        PACKED,
        "        return _without(self.builder, unpacked, skipped), lanes.count",
        "        return _without(self.builder, unpacked, 0), lanes.count",
        KERNELS,
    ),
    Mutant(
        "bits-last-byte-whole",
        "a vector that ends inside a byte writes all of it",
        PACKED,
        "is_whole = not skipped and lanes.count * dtype.bits % 8 == 0",
        "is_whole = not skipped",
        KERNELS,
    ),
    Mutant(
        "bits-rows-not-padded",
        "rows are taken to begin at the next bit",
        LAYOUT,
        "pitch: Any = -(-row // 8) * 8",
        "pitch: Any = row",
        ("tests/codegen/subbyte/test_layout.py", *KERNELS),
    ),
    Mutant(
        "bits-phase-of-rows",
        "contiguous rows of any length are taken to begin at bytes",
        LAYOUT,
        "    if offset.scaled and storage.array.rows is not Rows.PADDED:\n        return None\n",
        "",
        KERNELS,
    ),
    Mutant(
        "bits-columns-unmasked",
        "bits of the neighboring element come along",
        COLUMNS,
        "return 0 if part is None else (1 << part.high) - (1 << part.low)",
        "return 0 if part is None else (2 << part.high) - (1 << part.low)",
        STRATEGIES,
    ),
    Mutant(
        "bits-doubling-shift",
        "fields are moved one bit too far apart",
        DOUBLING,
        "moved = builder.shl(value, _every(conversion, width, (width - field) // 2))",
        "moved = builder.shl(value, _every(conversion, width, (width - field) // 2 + 1))",
        STRATEGIES,
    ),
    Mutant(
        "bits-multiplier",
        "seven bits are multiplied by a byte that is negative",
        MULTIPLY_ADD,
        "_SMALL = MappingProxyType({8: 6, 16: 14})",
        "_SMALL = MappingProxyType({8: 7, 16: 14})",
        STRATEGIES,
    ),
    Mutant(
        "bits-multishift-wraps",
        "elements that need more than 64 bits are taken out of 64",
        MULTISHIFT,
        "+ _field(conversion) <= 64 for lane",
        "+ _field(conversion) <= 68 for lane",
        STRATEGIES,
    ),
    Mutant(
        "bits-sign",
        "the sign is taken from the bit below it",
        CONVERSION,
        "sign = numbers(8, [1 << (conversion.bits - 1)] * count)",
        "sign = numbers(8, [(1 << conversion.bits) >> 2] * count)",
        STRATEGIES,
    ),
    Mutant(
        "bytes-shared-by-threads",
        "nobody asks whether threads share bytes",
        CHECK,
        "        or shared_byte_violation(program, tree)\n",
        "",
        THREADS,
    ),
    Mutant(
        "bytes-end-early",
        "an element does not touch the byte in which it ends",
        BYTES,
        'f"8 * byte <= {start} + {bits - 1} and {start} <= 8 * byte + 7"',
        'f"8 * byte <= {start} and {start} <= 8 * byte + 7"',
        THREADS,
    ),
    Mutant(
        "bytes-reads-left-out",
        "a read beside a write of another thread is no conflict",
        SHARED,
        "            if source.position or touched.array != written.array:",
        "            if source.position or sink.position or touched.array != written.array:",
        THREADS,
    ),
    Mutant(
        "bytes-of-the-next-row",
        "rows whose length is a parameter share no byte with the next row",
        BYTES,
        "for step in (-1, 0, 1):",
        "for step in (-1, 0):",
        THREADS,
    ),
    Mutant(
        "bytes-rows-begin-at-bytes",
        "rows whose length is a parameter all begin at a byte",
        BYTES,
        'position = f"({remainder} * {row.position} + e{place})"',
        'position = f"({0 if length is None else remainder} * {row.position} + e{place})"',
        THREADS,
    ),
    Mutant(
        "bytes-of-short-rows",
        "rows of one or two elements are forgotten where their length is a parameter",
        BYTES,
        "for value in range(1, bound):",
        "for value in range(3, bound):",
        THREADS,
    ),
    Mutant(
        "bytes-short-rows-have-two-neighbors",
        "a byte never reaches over a whole row",
        BYTES,
        "distant = 1 + (bound - 1) // literal if literal else 1",
        "distant = 1",
        THREADS,
    ),
    Mutant(
        "bytes-period-too-short",
        "half of the remainders of a length are taken for all",
        BYTES,
        "bound, period = (bits + 6) // bits, 8 // gcd(bits, 8)",
        "bound, period = (bits + 6) // bits, max(1, 4 // gcd(bits, 8))",
        THREADS,
    ),
)
