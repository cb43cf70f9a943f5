import pytest

from polysched.inspect.instruction import Kind, Memory, memory_operand, parse_instruction


@pytest.mark.parametrize(
    ("kind", "lines"),
    [
        (
            Kind.FMA,
            "vfmadd231ps %zmm0, %zmm1, %zmm2|vfnmadd213pd (%rdi), %ymm1, %ymm2|"
            "vfmadd132ss %xmm0, %xmm1, %xmm2|vfmaddsub213ps %xmm0, %xmm1, %xmm2|"
            "vfmadd231ps (%rsi){1to16}, %zmm1, %zmm2 {%k1}|vfmadd213ph %zmm0, %zmm1, %zmm2|"
            "vdpbf16ps %zmm0, %zmm1, %zmm2|vpdpbusd %zmm0, %zmm1, %zmm2|"
            "{vex} vpdpwssds %ymm0, %ymm1, %ymm2|vfmadd213ps {rn-sae}, %zmm0, %zmm1, %zmm2",
        ),
        (
            Kind.VECTOR_ARITHMETIC,
            "vaddps %zmm0, %zmm1, %zmm2|mulps %xmm0, %xmm1|vmaxps (%rdi){1to16}, %zmm1, %zmm2|"
            "vxorps %xmm0, %xmm0, %xmm0|vpmovsxbd (%rdi), %zmm0|vcvtdq2ps %zmm0, %zmm1|"
            "vcvttss2si %xmm0, %eax|vpsadbw %zmm0, %zmm1, %zmm2|"
            "vblendvps %ymm0, %ymm1, %ymm2, %ymm3|"
            "vpternlogd $216, %zmm0, %zmm1, %zmm2|vucomiss %xmm0, %xmm1|vmovmskps %ymm0, %eax|"
            "vsqrtps %zmm0, %zmm1|vdpps $255, %xmm0, %xmm1, %xmm2",
        ),
        (
            Kind.VECTOR_LOAD,
            "vmovups (%rdi), %zmm0|vmovaps 64(%rdi,%rax,4), %ymm1|movsd (%rdi), %xmm0|"
            "vmovss .LCPI0_0(%rip), %xmm0|vmovdqu64 (%rsi), %zmm1 {%k1} {z}|"
            "vmovntdqa (%rdi), %zmm0|vmaskmovps (%rdi), %ymm0, %ymm1|vmovaps table, %zmm0",
        ),
        (Kind.BROADCAST, "vbroadcastss (%rdi), %zmm0|vpbroadcastd 4(%rdi), %ymm0"),
        (Kind.BROADCAST, "vbroadcastf32x4 (%rdi), %zmm0|vmovddup (%rdi), %xmm1"),
        (
            Kind.VECTOR_STORE,
            "vmovups %zmm0, (%rdi)|vmovntps %zmm0, 64(%rdi)|vmovups %zmm0, (%rdi) {%k1}|"
            "vmovss %xmm0, (%rdi)|vextractf128 $1, %ymm0, (%rdi)|vpmovdb %zmm0, (%rdi)|"
            "vmaskmovps %ymm0, %ymm1, (%rdi)|vpextrd $1, %xmm0, (%rdi)|"
            "vcompressps %zmm0, (%rdi) {%k1}",
        ),
        (Kind.VECTOR_MOVE, "vmovaps %zmm0, %zmm1|vmovd %eax, %xmm0|vmovss %xmm0, %xmm1, %xmm2"),
        (
            Kind.SHUFFLE,
            "vpermps %zmm0, %zmm1, %zmm2|vpermt2ps (%rdi), %zmm1, %zmm2|"
            "vshufps $1, %ymm0, %ymm1, %ymm2|"
            "vunpcklps %ymm0, %ymm1, %ymm2|vinsertf128 $1, %xmm0, %ymm1, %ymm2|"
            "palignr $4, %xmm0, %xmm1|"
            "vextractf64x4 $1, %zmm0, %ymm1|vpshufb %zmm0, %zmm1, %zmm2|vbroadcastss %xmm0, %zmm1|"
            "vpbroadcastd %eax, %zmm0|vmovshdup %zmm0, %zmm1|vpackusdw %ymm0, %ymm1, %ymm2|"
            "vpslldq $4, %zmm0, %zmm1|vexpandps (%rdi), %zmm0 {%k1} {z}|"
            "vpinsrd $1, %eax, %xmm0, %xmm1",
        ),
        (
            Kind.GATHER,
            "vgatherdps (%rdi,%zmm1,4), %zmm0 {%k1}|vpgatherqd (%rdi,%ymm1), %xmm0, %xmm2",
        ),
        (Kind.SCATTER, "vscatterdps %zmm0, (%rdi,%zmm1,4) {%k1}"),
        (
            Kind.MASK,
            "kmovw %eax, %k1|kxnorw %k0, %k0, %k1|kortestw %k0, %k1|vcmpltps %zmm0, %zmm1, %k1|"
            "vpcmpgtd (%rdi), %zmm1, %k1 {%k2}|vptestnmd %zmm0, %zmm0, %k0|vpmovm2d %k0, %zmm1|"
            "vpmovd2m %zmm0, %k0|kmovw (%rdi), %k1|vpshufbitqmb %zmm0, %zmm1, %k1",
        ),
        (Kind.MATRIX, "tdpbf16ps %tmm0, %tmm1, %tmm2|tileloadd (%rdi,%rax), %tmm0|tilezero %tmm1"),
        (Kind.PREFETCH, "prefetcht0 64(%rdi)|prefetchnta (%rdi)|prefetchw (%rdi)"),
        (Kind.SCALAR_LOAD, "movq (%rdi), %rax|movslq 4(%rdi,%rcx,4), %rax|movzbl (%rdi), %eax"),
        (Kind.SCALAR_STORE, "movq %rax, (%rdi)|movb $1, 4(%rdi)|movnti %rax, (%rdi)|sete (%rdi)"),
        (
            Kind.SCALAR_ARITHMETIC,
            "addq $64, %rsi|leaq (%rdi,%rax,4), %rcx|movq %rdi, %rax|xorl %eax, %eax|incq %rax|"
            "imulq %rdi, %rax|movabsq $.LCPI0_0, %rax|cltq|popcntq %rax, %rcx|addq $1, (%rdi)|"
            "tzcntl %eax, %ecx|cmovlq %rax, %rcx|lock addq $1, (%rdi)|shlq $2, %rax|idivl %ecx",
        ),
        (Kind.COMPARE, "cmpq %rax, %rdi|testq %rax, %rax|cmpl $4, (%rdi)|btl $2, %eax"),
        (Kind.JUMP, "jne .LBB0_1|jmp .LBB0_2|jmpq *%rax|jae .LBB0_4"),
        (Kind.CALL, "callq expf|callq *%rax|callq expf@PLT"),
        (Kind.RETURN, "retq|ret"),
        (Kind.OTHER, "vzeroupper|pushq %rbp|popq %rbx|nop|endbr64|vldmxcsr (%rsp)|ud2"),
    ],
)
def test_kinds(kind: Kind, lines: str) -> None:
    wrong = {
        line: got for line in lines.split("|") if (got := parse_instruction(line).kind) != kind
    }
    assert wrong == {}


@pytest.mark.parametrize(
    ("operand", "memory"),
    [
        ("(%rdi)", Memory("%rdi", None, None)),
        ("-128(%rsp)", Memory("%rsp", None, None)),
        ("64(%rdi,%rax,4)", Memory("%rdi", "%rax", None)),
        ("(,%rax,8)", Memory(None, "%rax", None)),
        ("4(%rdi){1to16}", Memory("%rdi", None, 16)),
        ("(%rdi,%zmm1,4) {%k1}", Memory("%rdi", "%zmm1", None)),
        (".LCPI0_0(%rip)", Memory("%rip", None, None)),
        (".LCPI0_0+4(%rip){1to8}", Memory("%rip", None, 8)),
        ("%fs:40", Memory(None, None, None)),
        ("table", Memory(None, None, None)),
        ("%rax", None),
        ("%zmm1 {%k1} {z}", None),
        ("$64", None),
        ("$-4", None),
        ("{rn-sae}", None),
    ],
)
def test_memory_operands(operand: str, memory: Memory | None) -> None:
    assert memory_operand(operand) == memory


@pytest.mark.parametrize(
    ("line", "writes"),
    [
        ("vmovups (%rdi), %zmm0", False),
        ("vmovups %zmm0, (%rdi) {%k1}", True),
        ("vfmadd231ps (%rsi){1to16}, %zmm1, %zmm2", False),
        ("addq %rax, 8(%rdi)", True),
        ("addq 8(%rdi), %rax", False),
        ("incq (%rdi)", True),
        ("idivq (%rdi)", False),
        ("cmpq $4, (%rdi)", False),
        ("leaq 8(%rdi), %rax", False),
        ("callq *8(%rdi)", False),
        ("jne .LBB0_1", False),
        ("prefetcht0 (%rdi)", False),
        ("vaddps %zmm0, %zmm1, %zmm2", False),
    ],
)
def test_memory_is_written(line: str, writes: bool) -> None:
    assert parse_instruction(line).writes_memory == writes


def test_operands_are_split_outside_of_parentheses() -> None:
    instruction = parse_instruction("\tvfmadd231ps\t64(%rdi,%rax,4){1to16}, %zmm1, %zmm2 {%k1} {z}")
    assert instruction.mnemonic == "vfmadd231ps"
    assert instruction.operands == ("64(%rdi,%rax,4){1to16}", "%zmm1", "%zmm2 {%k1} {z}")
    assert instruction.destination == "mm2"
    assert instruction.is_masked
    assert instruction.memory == Memory("%rdi", "%rax", 16)


def test_registers() -> None:
    assert parse_instruction("vextractf64x4 $1, %zmm9, %ymm1").widest_register == "zmm"
    assert parse_instruction("vaddps %xmm1, %xmm1, %xmm31").widest_register == "xmm"
    assert parse_instruction("addq $1, %rax").widest_register is None
    assert parse_instruction("addq $1, %rax").destination == "rax"
    assert parse_instruction("retq").destination is None


@pytest.mark.parametrize(
    ("line", "single"),
    [
        ("vaddss %xmm0, %xmm1, %xmm2", True),
        ("vfmadd231sd (%rdi), %xmm1, %xmm2", True),
        ("mulss %xmm0, %xmm1", True),
        ("vaddps %xmm0, %xmm1, %xmm2", False),
        ("vpdpwssd %zmm0, %zmm1, %zmm2", False),
        ("vpabsd %zmm0, %zmm1", False),
        ("pmaxsd %xmm0, %xmm1", False),
        ("vmovss (%rdi), %xmm0", False),
    ],
)
def test_single_lane(line: str, single: bool) -> None:
    assert parse_instruction(line).single_lane is single


def test_jumps() -> None:
    conditional = parse_instruction("jne .LBB0_1")
    assert conditional.is_conditional_jump
    assert conditional.falls_through
    assert conditional.target == ".LBB0_1"
    always = parse_instruction("jmp .LBB0_1")
    assert always.ends_block
    assert not always.falls_through
    table = parse_instruction("jmpq *.LJTI0_0(,%rax,8)")
    assert table.is_indirect_jump
    assert table.target is None
    assert parse_instruction("callq expf").target is None
    assert parse_instruction("ud2").ends_block


def test_prefixes_do_not_hide_the_instruction() -> None:
    assert parse_instruction("rep;movsq (%rsi), %es:(%rdi)").mnemonic == "movsq"
    assert parse_instruction("notrack jmpq *%rax").is_indirect_jump
    assert parse_instruction("repne scasb %es:(%rdi), %al").mnemonic == "scasb"
