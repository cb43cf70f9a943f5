"""Measured costs of a machine, which the planners of the library and the autoscheduler share.

Each number is a default that a machine file may replace, in its table ``[costs]``. The defaults
were measured on AMD Zen 4 and Zen 5; ``notes/performance.md`` has the tables. ``polysched machine
--calibrate`` measures the fields that :data:`CALIBRATED` lists.
"""

from dataclasses import dataclass, fields

from polysched.errors import MachineError


@dataclass(frozen=True)
class Costs:
    """Costs in cycles, bytes, terms, rows and elements. All are positive."""

    l2_load: int = 6
    """L1 loads of 512 bits that take as long as one load from L2: some 21 bytes a cycle.

    A register tile whose panel exceeds half of L1 loads at this fraction of the rate. Too small a
    number makes tiles wider than L1 holds, too large a number makes them taller than they need be.
    """

    l2_line: int = 1
    """Cycles of a cache line from L2 that arrives beside FMAs, in short streams.

    Hardware prefetchers do not hide such streams. At 1024^3 f32, tiles of 6 rows by 4 vectors beat
    8 by 3 by 1 to 2 %; with 0 the model prefers 8 by 3.
    """

    panel_prefetch: int = 4
    """Terms by which rows of a packed panel of `b` in L2 are prefetched into L1 ahead of their use.

    On Sapphire Rapids 1024^3 in f32 reaches 0.83 of peak with it and 0.81 without, 0.81 with 8.
    """

    conflicting_line: int = 40
    """Cycles to write a cache line of sums when the lines of a register tile share one cache set.

    They are written one after the other while the next tile is computed. With few terms that takes
    longer than the FMAs, so tiles become flat.
    """

    tile_entry: int = 24
    """Cycles to start and end a register tile: loop control and one mispredicted branch."""

    lone_store: int = 2
    """Cycles to store one element that is not contiguous with its neighbors."""

    horizontal_sum: int = 9
    """Cycles to add the lanes of a vector and store the sum, with a partial last vector.

    Measured 8 to 10.
    """

    element_copy: int = 1
    """Cycles to copy one element into transposed order."""

    lone_vector_term: float = 0.9
    """Cycles for one term of a row whose sums fill at most one vector."""

    memory_bytes: int = 16
    """Bytes that one thread reads per cycle from the last cache or from memory, at most."""

    parallel_cycles: int = 40_000
    """Use one thread for work of fewer cycles, some 11 microseconds.

    A parallel region costs 2 to 3 microseconds when the threads are awake, so less work gains
    little. Waking a thread costs 15 to 60 microseconds, so a sleeping one is woken for little more
    work only if more regions follow (:mod:`polysched.runtime.thread_team`).
    """

    parallel_region: int = 6_000
    """Cycles to start and to end a parallel region while the threads of the team are awake.

    Measured on Zen 4 with two threads, in a serial loop of regions: 1.0 to 1.3 us, 2.4 us if each
    thread reads megabytes that the other one has written.
    """

    shared_loop: int = 80_000
    """Least cycles of one run of a loop that threads share: 20 us.

    Measured in the same loop, two threads over one: 0.73 for a region of 1.2 us, 1.0 for 2.4 us,
    1.4 for 6 us and 1.7 for 26 us.
    """

    threaded_part: float = 0.85
    """Share a nest among threads if it then takes at most this part of its cycles.

    A smaller gain is within the error of the model, and is lost if another process needs a core.
    """

    memory_threads: float = 1.5
    """Threads that draw lines from memory at full speed, at most.

    Measured on Zen 4 with two threads: 1.5 to 1.8 for sums over 288 MB, 1.8 to 2.1 for
    ``y[i] = 2 * x[i]`` over 512 MB, but 1.0 with other tenants on the machine.
    """

    thread_row_bytes: int = 256
    """Bytes of each row that a thread writes in a chunk of iterations, at least.

    With parts of one vector, two threads write to most cache lines in turn. Measured on Zen 4: a
    stencil in three dimensions, whose rows of 15 vectors are shared so, takes 2.4 times as long as
    on one thread.
    """

    moved_line: float = 6.0
    """Cycles of a cache line that another thread has used in the region before.

    Chunks go to whichever thread is free, so about half of the lines lie in the caches of another
    core. Measured on Zen 4 with two threads: a stencil of 200^3 floats in 4850 regions, each on
    1.3 MB, loses 5 cycles a line and gains nothing. Plain updates of 32 to 512 KB a thread lose 3
    to 2 cycles a line if the threads change parts, and none above 1 MB.
    """

    shared_cache_part: float = 0.3
    """The part of a cache shared among cores that is available to one statement.

    Wavefronts are compared with it. On Zen 4 with 32 MB, one thread scales 8 MB at 97 GB/s, 16 MB
    at 68, 32 MB at 39 and 128 MB at 27. A stencil whose diagonals touch 9 MB takes 90 ms on two
    threads, with diagonals of 5 MB 55 to 80 ms.
    """

    threaded_program: int = 400_000
    """Least cycles of a program that gets threads: a tenth of a millisecond.

    Waking a thread takes 15 to 60 us, so the team wakes none for shorter work. Calls of 98 us, one
    after the other, run at 0.96 of the speed of one thread.
    """

    parallel_elements: int = 1 << 17
    """Reduce fewer elements than this on one thread: a second one costs more than it gains."""

    parallel_products: int = 1 << 20
    """Compute a convolution of fewer multiplications than this on one thread."""

    parallel_copy_bytes: int = 1 << 20
    """Transpose an array of fewer bytes than this on one thread."""

    packing_rows: int = 128
    """Pack an operand that exceeds L2 when at least this many rows read each element.

    Packing costs about 6 cycles a vector, which fewer rows do not save. An operand whose panels are
    prefetched in place is packed for its pages only. GFLOP/s of f64 on Zen 4, packed and
    prefetched: 64 x 512 x 4096 36 and 46, 128 x 1000 x 1000 48.7 and 54.6, 256 x 1000 x 1000 53.2
    and 56.0, 300 x 1024 x 512 52.5 and 55.8, 800 x 512 x 1024 53.3 and 54.3, 1000^3 55.6 and 55.9.
    """

    conflicting_packing_rows: int = 64
    """The same, when the steps of a panel share one cache set and the packed panel fits L1."""

    narrow_panel: int = 128
    """Least bytes of a step at which the hardware prefetches the next lines of a panel in place."""

    narrow_packing_rows: int = 32
    """Pack narrower panels of an operand that exceeds L1 twice when this many rows read it.

    Measured on Zen 4 with AVX2, panels of 24 f32, time without packing over time with it: 1.16 at
    40x700x500, 1.2 at 72x1665x492, 1.25 at 629x146x738.
    """

    line_into_l1: float = 2.0
    """Cycles to bring a cache line from L2 into L1, in a stream of several rows."""

    line_into_l2: float = 1.5
    """Cycles to bring a cache line from L3 into L2, in such a stream.

    With 2.0 for L1, of which half counts beside it, a line takes 2.75 cycles. On Zen 4: 2.4.
    """

    line_into_l3: float = 9.0
    """Cycles to bring a cache line from memory into the last cache, in such a stream."""

    near_pages: int = 64
    """Pages whose addresses the first-level TLB holds."""

    near_page: float = 1.0
    """Cycles of an access whose address is in the second-level TLB only. Loads overlap.

    Measured on Zen 4 with sums down the columns of a matrix: 400 rows in 400 pages take 0.8 to 1.1
    cycles an element more than rows in fewer pages.
    """

    far_pages: int = 2048
    """Pages whose addresses the second-level TLB holds."""

    far_page: float = 9.0
    """Cycles of an access whose address is in no TLB.

    Measured in the same way as `near_page`, on two machines: 3000 rows take 7 and 9 cycles more.
    """

    gathered_lane: float = 1.4
    """Cycles of one lane of a gather; a scatter takes twice as long.

    Measured on Zen 4: a column of 300 rows of 400 floats takes 1.4 cycles a lane.
    """

    gathered_narrow_lane: float = 2.5
    """The same for elements of 8 or 16 bits: each lane is extracted, loaded and inserted."""

    aligned_vectors: int = 1_000_000
    """Rows of at least this many vectors are not shifted: vectors begin where the row begins.

    If the loop starts later in the row, a mask is cheaper than stores to two cache lines. Measured
    on Sapphire Rapids with time tiles of a stencil of 2000 by 2000 doubles: 105 to 210 ms, and 242
    to 440 ms if vectors begin at the second element of each row. Not measured on Zen 4.
    """

    instructions_in_flight: int = 250
    """Instructions that the processor looks ahead, while it waits for the oldest of them.

    Measured on Zen 4, whose reorder buffer has 320 entries, with sums in order along rows, five
    instructions a term: a term of rows of 20, 60, 250 and 1000 floats takes 1.4, 2.3, 3.3 and 3.8
    cycles of the latency of 4. The number that fits best is between 200 and 250.
    """

    division: float = 6.0
    """Cycles between the starts of two vector divisions or square roots."""

    vector_function: float = 13.0
    """Cycles of one vector function such as ``exp``."""

    page_packing_rows: int = 1024
    """Pack an operand that fits L2 but not the first-level TLB when this many rows read it.

    Measured on Zen 4, time without packing over time with it: 1.04 at 2000x150x300 in f64 and 1.06
    for a filter of 3x3x128x128 that 2000 pixels read; 0.97 to 0.99 at 150 to 512 rows.
    """

    aligning_rows: int = 1 << 30
    """Pack any operand that this many rows read: vectors of the copy begin at cache lines."""

    vnni_rows: int = 8
    """Use groups of four terms in VNNI layout when at least this many rows read the copy."""

    vnni_pair_rows: int = 16
    """The same for groups of two terms, which save half as many instructions (Zen 5)."""

    vnni_terms: int = 16
    """Use the VNNI layout when a sum has at least this many terms."""

    dot_rows: int = 32
    """Use the dot form for a transposed operand when a thread has at most this many rows.

    The dot form reads the operand in place. GFLOP/s on Zen 4, in dot form and packed transposed:
    f32 24x2048x3000 74, 68; 32x4096x4096 85, 73; 48x1024x1024 94, 99; f64 32x2048x2048 42, 40;
    48x2048x2048 40, 44. Size-generic kernels, which pack apart from the product, use it for half as
    many rows more.
    """

    computed_dot_vectors: int = 4
    """The same for a transposed operand that is computed from bytes or wider elements, in vectors.

    The dot form computes each element once for a few rows, in place; packing it transposed computes
    it by columns. GFLOP/s of 24, 64 and 128 rows by 4096 x 4096 on Zen 4, packed and in the dot
    form: int8 with a scale for each column 38, 65, 82 and 85, 87, 88; with scales for 128 terms 53,
    80, 93 and 84, 86, 86; f16 72, 95, 103 and 96, 103, 100; 4-bit integers, which are unpacked in
    whole vectors, 63, 91, 101 and 69, 71, 71. With AVX2 int8 51, 77, 92 and 71, 71, 71; f16 74,
    87, 97 and 67, 67, 66.
    """

    dot_extra_vectors: int = 2
    """Use the dot form when a sum has one vector of terms for each row and this many more.

    Reducing the partial sums of a column costs the same for each row. Measured for f32: transposing
    first makes 8x400x64 1.5 times as fast, and 8x400x256 0.8 times.
    """

    dot_tile_rows: int = 7
    """Rows of a register tile in dot form, at most: each needs a vector of the left operand."""

    distant_dot_tile_rows: int = 5
    """The same, when these rows exceed 3/4 of L1: each tile reloads them from L2."""

    dot_tile_columns: int = 4
    """Columns of a register tile in dot form, at most; twice as many for one or two rows.

    Tiles of 4 x 4 beat 8 x 2. A single row by eight rows of a transposed operand in the last cache
    runs at 46 GB/s, by four at 39.
    """

    block_terms: int = 64
    """Terms of a cache block, at least: each block loads and stores all the sums."""

    row_block: int = 256
    """Rows of a cache block when a transposed left operand is packed.

    Without packing, each panel reads the operand from as many pages as there are terms. Packing
    took 2000x300x2000 in f64 from 0.61 to 1.82 times numpy.
    """

    streamed_rows: int = 8
    """Rows of an operand that are read side by side, at least, when it is streamed from memory."""

    streamed_parts: int = 2
    """Parts for each thread when an operand is streamed: more parts read shorter pieces of rows."""

    near_l3_bytes: int = 32 * 2**20
    """Bytes of the last cache that are near to one core. Servers have more, and virtual machines
    report that of the whole host, but streams from there are as slow as from memory: with 480 MiB
    on Sapphire Rapids 16 rows by 4096x4096 take 0.44 of their time if the matrix counts as far.
    """

    prefetch_distance: int = 1024
    """Bytes between a vector that is read from a streamed operand and the one prefetched.

    GFLOP/s of 16 rows by 4000 x 4000 in f64 on Zen 4: 24 without a prefetch, 51 with 1 KiB, 49 with
    2 KiB; of 33 rows by 2500 x 4001 20, 46 with 2 KiB and 41 with 4 KiB.
    """

    streamed_block_terms: int = 256
    """Terms of a block when narrow panels of a streamed operand are packed.

    Measured on Zen 4 with AVX2, times OpenBLAS: 24x4096x4096 in f32 0.83, in place 0.44;
    32x5000x3000 0.93 and 0.41; 16x4096x4096 in f64 0.91 and 0.48.
    """

    prefetched_block_terms: int = 384
    """Terms of a short block of wide panels that are prefetched in place.

    GFLOP/s of f32 on Zen 4 with blocks of 128, 256, 384, 512 and 1024 terms: 24x4096x4096 92, 91,
    90, 86, 69; 64x4096x4096 101, 106, 106, 105, 84; 128x2048x3000 106, 107, 108, 107, 107. With
    blocks of 384 terms and of 2048, both in the L3 cache: 33x2048x1024 102, 97; 20x2048x2048 95,
    53.
    """

    wide_row: int = 16
    """Least vectors of a single row of sums for which the other operand is streamed.

    A few of its rows are then read side by side, each from its beginning to its end, and the sums
    are loaded from and stored to L1 for each block.
    """

    row_vectors: int = 4
    """Accumulator vectors of the register tile for such a single row."""

    vnni_block_terms: int = 256
    """Terms of a block in VNNI layout, when the steps of the operand conflict and it exceeds L2.

    Measured for int8 on Zen 5 (``notes/performance.md``): 16x4096x4096 took 2.4 ms in such blocks
    and 4.5 ms panel by panel, which reads one cache line of each row. Where rows do not conflict,
    panels are as good or better: 12x1000x4000 took 262 us, in blocks 302 us.
    """

    vnni_block_columns: int = 1024
    """Columns of such a block. With two threads, parts narrower than a block cost a third."""

    thread_parts: int = 8
    """Parts for each thread, when further parts cost nothing.

    If the system delays a thread, the rest of the team takes its remaining parts, and the wait for
    the last part is short.
    """

    divided_terms: int = 1024
    """Divide sums among threads when each thread gets at least this many terms."""

    divided_sums: int = 128 * 128
    """Divide sums among threads when the result has at most this many elements.

    Each thread has a copy of them, and the copies are added at the end.
    """

    crowding_pitch: int = 1024
    """Rows of a transposed copy that are a multiple of this many bytes apart crowd few cache sets.

    Tiles then follow the rows of the output, pairs of lines or diagonals instead of the rows of the
    source.
    """

    diagonal_tiles: int = 16
    """Copy tiles along diagonals of at least this many tiles; shorter ones are slower than rows."""

    collected_share: float = 3 / 8
    """Share of the last cache that source and result of a transposed copy fill when it collects.

    Beyond it, collecting gains nothing or loses, because lines come from memory.
    """

    def line_cycles(self, level: int) -> float:
        """Return the cycles to bring a line into the cache of a level, in a stream."""
        return {1: self.line_into_l1, 2: self.line_into_l2}.get(level, self.line_into_l3)

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value <= 0:
                raise MachineError(f"costs: {field.name} is {value}; expected a positive number")


CALIBRATED = (
    "line_into_l1",
    "line_into_l2",
    "line_into_l3",
    "near_page",
    "far_page",
    "gathered_lane",
    "gathered_narrow_lane",
    "division",
    "vector_function",
)
"""The costs that kernels of their own can measure."""
