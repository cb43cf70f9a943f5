import pytest

from polysched.inspect.assembly import loop_control
from polysched.inspect.instruction import parse_instruction


@pytest.mark.parametrize(
    ("body", "control"),
    [
        ("decq %rdi|vaddps %zmm0, %zmm1, %zmm1|jne .L", {0, 2}),
        ("addq $64, %rsi|addq $64, %rdi|cmpq %rax, %rsi|jb .L", {0, 1, 2, 3}),
        ("leaq 64(%rsi), %rsi|testq %rsi, %rsi|jne .L", {0, 1, 2}),
        # A pointer that goes on by a stride the loop does not change, and one that does.
        ("addq %r8, %rsi|decq %rax|jne .L", {0, 1, 2}),
        ("imulq %r9, %r8|addq %r8, %rsi|decq %rax|jne .L", {2, 3}),
        # Addresses made anew are address arithmetic, not control.
        ("leaq (%rsi,%rax,4), %rcx|leaq 8(%rsi), %rcx|incq %rax|jne .L", {2, 3}),
        ("movq %rsi, %rcx|shlq $2, %rcx|incq %rax|cmpq $9, %rax|jne .L", {2, 3, 4}),
        # The arithmetic feeds the jump, even when it is no step.
        ("andl $7, %eax|leaq 4(%rcx), %rcx|jne .L", {0, 1, 2}),
        # Memory is not a counter kept in a register.
        ("addq $1, (%rsi)|decq %rax|jne .L", {1, 2}),
        # The mask decides, not the arithmetic before it.
        ("xorl %eax, %ecx|kortestw %k0, %k0|jne .L", {2}),
        ("vmovups (%rdi), %zmm0|jmp .L", {1}),
    ],
)
def test_positions(body: str, control: set[int]) -> None:
    assert loop_control([parse_instruction(line) for line in body.split("|")]) == control
