"""Wrong versions of packed arrays: their bits, their bytes, and the threads that share these."""

from tests.mutants.mutant import Mutant

PACKED = "polysched.llvm.subbyte.accesses"
SINGLE = "polysched.llvm.subbyte.single"
LAYOUT = "polysched.llvm.memory.packed_layout"
COLUMNS = "polysched.llvm.subbyte.columns"
DOUBLING = "polysched.llvm.subbyte.doubling"
MULTISHIFT = "polysched.llvm.subbyte.multishift"
CONVERSION = "polysched.llvm.subbyte.conversion"
SHARED = "polysched.legality.checks.shared_bytes"
BYTES = "polysched.legality.checks.bit_layout"
CHECK = "polysched.legality.check"
STRATEGIES = ("tests/llvm/subbyte/test_strategies.py",)
KERNELS = ("tests/llvm/subbyte/test_accesses.py",)
PAGES = ("tests/llvm/memory/test_arrays.py",)
THREADS = ("tests/legality/checks/test_shared_bytes.py",)

MUTANTS = (
    Mutant(
        "bits-neighbors-lost",
        "a store of a part of a byte clears the rest of it",
        SINGLE,
        "SingleAccesses._merge",
        "builder.not_(own)",
        "builder.not_(builder.or_(own, old))",
        KERNELS,
    ),
    Mutant(
        "bits-beyond-the-array",
        "an element is read with the byte behind its last one",
        SINGLE,
        "SingleAccesses._byte_numbers",
        'intrinsic(builder, "smin", [byte_number, last])',
        "byte_number",
        PAGES,
    ),
    Mutant(
        "bits-scattered-unmasked",
        "lanes that do not run are written too",
        SINGLE,
        "SingleAccesses.scatter",
        "mask is None",
        "mask is not number",
        KERNELS,
    ),
    Mutant(
        "bits-merge-whole",
        "the lanes that do not run are written with those in their bytes",
        PACKED,
        "PackedAccesses._merge",
        "builder.not_(chosen)",
        "chosen",
        KERNELS,
    ),
    Mutant(
        "bits-phase-forgotten",
        "a vector that begins inside a byte is read from the byte's start",
        PACKED,
        "PackedAccesses.load",
        "_without(self.builder, unpacked, skipped)",
        "_without(self.builder, unpacked, 0)",
        KERNELS,
    ),
    Mutant(
        "bits-last-byte-whole",
        "a vector that ends inside a byte writes all of it",
        PACKED,
        "PackedAccesses.store",
        "not skipped and lanes.count * dtype.bits % 8 == 0",
        "not skipped",
        KERNELS,
    ),
    Mutant(
        "bits-rows-not-padded",
        "rows are taken to begin at the next bit",
        LAYOUT,
        "bit_strides",
        "-(-row // 8) * 8",
        "row",
        ("tests/llvm/memory/test_packed_layout.py", *KERNELS),
    ),
    Mutant(
        "bits-phase-of-rows",
        "contiguous rows of any length are taken to begin at bytes",
        "polysched.vector.lowering",
        "Lowering._packed_address",
        "offset.scaled and array.rows is not Rows.PADDED",
        "False",
        ("tests/vector/passes/test_vectorize.py", *KERNELS),
    ),
    Mutant(
        "bits-columns-unmasked",
        "bits of the neighboring element come along",
        COLUMNS,
        "_mask",
        "1 << part.high",
        "2 << part.high",
        STRATEGIES,
    ),
    Mutant(
        "bits-doubling-shift",
        "fields are moved one bit too far apart",
        DOUBLING,
        "unpack_doubling",
        "(width - field) // 2",
        "(width - field) // 2 + 1",
        STRATEGIES,
    ),
    Mutant(
        "bits-multiplier",
        "seven bits are multiplied by a byte that is negative",
        DOUBLING,
        "_SMALL_FIELD",
        "{8: 6, 16: 14}",
        "{8: 7, 16: 14}",
        STRATEGIES,
    ),
    Mutant(
        "bits-multishift-wraps",
        "elements that need more than 64 bits are taken out of 64",
        MULTISHIFT,
        "can_multishift",
        "lane * _field(conversion) % 8 + _field(conversion) <= 64",
        "lane * _field(conversion) % 8 + _field(conversion) <= 68",
        STRATEGIES,
    ),
    Mutant(
        "bits-sign",
        "the sign is taken from the bit below it",
        CONVERSION,
        "extended",
        "1 << (conversion.bits - 1)",
        "(1 << conversion.bits) >> 2",
        STRATEGIES,
    ),
    Mutant(
        "bytes-shared-by-threads",
        "nobody asks whether threads share bytes",
        CHECK,
        "find_violation",
        "shared_byte_violation(program, tree)",
        "None",
        THREADS,
    ),
    Mutant(
        "bytes-end-early",
        "an element does not touch the byte in which it ends",
        BYTES,
        "sharing_relation",
        'f"8 * byte <= {start} + {bits - 1} and {start} <= 8 * byte + 7"',
        'f"8 * byte <= {start} and {start} <= 8 * byte + 7"',
        THREADS,
    ),
    Mutant(
        "bytes-reads-left-out",
        "a read beside a write of another thread is no conflict",
        SHARED,
        "sharing_pairs",
        "source.position or touched.array != written.array",
        "source.position or sink.position or touched.array != written.array",
        THREADS,
    ),
    Mutant(
        "bytes-of-the-next-row",
        "rows whose length is a parameter share no byte with the next row",
        BYTES,
        "_cases",
        "(-1, 0, 1)",
        "(-1, 0)",
        THREADS,
    ),
    Mutant(
        "bytes-rows-begin-at-bytes",
        "rows whose length is a parameter all begin at a byte",
        BYTES,
        "_cases",
        'f"({remainder} * {row.position} + e{place})"',
        'f"({0 if length is None else remainder} * {row.position} + e{place})"',
        THREADS,
    ),
    Mutant(
        "bytes-of-short-rows",
        "rows of one or two elements are forgotten where their length is a parameter",
        BYTES,
        "_lengths",
        "range(1, bound)",
        "range(3, bound)",
        THREADS,
    ),
    Mutant(
        "bytes-short-rows-have-two-neighbors",
        "a byte never reaches over a whole row",
        BYTES,
        "_cases",
        "1 + (bound - 1) // literal if literal else 1",
        "1",
        THREADS,
    ),
    Mutant(
        "bytes-period-too-short",
        "half of the remainders of a length are taken for all",
        BYTES,
        "sharing_relation",
        "8 // gcd(bits, 8)",
        "max(1, 4 // gcd(bits, 8))",
        THREADS,
    ),
)
