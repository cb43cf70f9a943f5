	.file	"<string>"
	.section	.rodata.cst32,"aM",@progbits,32
	.p2align	5, 0x0
.LCPI0_0:
	.short	0
	.short	16
	.short	1
	.short	17
	.short	2
	.short	18
	.short	3
	.short	19
	.short	4
	.short	20
	.short	5
	.short	21
	.short	6
	.short	22
	.short	7
	.short	23
.LCPI0_1:
	.short	8
	.short	24
	.short	9
	.short	25
	.short	10
	.short	26
	.short	11
	.short	27
	.short	12
	.short	28
	.short	13
	.short	29
	.short	14
	.short	30
	.short	15
	.short	31
	.section	.rodata.cst4,"aM",@progbits,4
	.p2align	2, 0x0
.LCPI0_2:
	.long	1
.LCPI0_3:
	.long	32767
.LCPI0_4:
	.long	64
	.section	.ltext,"axl",@progbits
	.globl	matmul
	.p2align	4
	.type	matmul,@function
matmul:
	pushq	%rbp
	movq	%rsp, %rbp
	pushq	%r15
	pushq	%r14
	pushq	%r13
	pushq	%r12
	pushq	%rbx
	andq	$-64, %rsp
	subq	$4224, %rsp
	movq	%rdx, %r15
	movq	%rsi, %r12
	movq	%rdi, 32(%rsp)
	movabsq	$aligned_alloc, %rbx
	movl	$4096, %edi
	movl	$1052672, %esi
	callq	*%rbx
	movq	%rax, %r13
	movl	$4096, %edi
	movl	$69632, %esi
	callq	*%rbx
	movq	%rax, %r14
	movq	%r13, 8(%rsp)
	testq	%r13, %r13
	je	.LBB0_2
	testq	%r14, %r14
	je	.LBB0_2
	movabsq	$tiles.01000000000000000000000000000000400040004000400040004000400040000000000000000000000000000000000010101010101010100000000000000000, %rax
	ldtilecfg	(%rax)
	leaq	128(%rsp), %rax
	movq	8(%rsp), %rcx
	addq	$32, %rcx
	movq	%rcx, 24(%rsp)
	addq	$2048, %r12
	xorl	%r8d, %r8d
	movabsq	$.LCPI0_0, %rcx
	vmovdqa	(%rcx), %ymm0
	movabsq	$.LCPI0_1, %rcx
	vmovdqa	(%rcx), %ymm1
	movl	$64, %esi
	movl	$128, %edi
	leaq	64(%rsp), %rdx
	movabsq	$.LCPI0_2, %rcx
	vpbroadcastd	(%rcx), %zmm2
	movabsq	$.LCPI0_3, %rcx
	vpbroadcastd	(%rcx), %zmm3
	vxorps	%xmm4, %xmm4, %xmm4
	movabsq	$.LCPI0_4, %rcx
	vpbroadcastd	(%rcx), %zmm5
	.p2align	4
.LBB0_4:
	movq	%r8, 40(%rsp)
	movq	%r12, %rcx
	movq	24(%rsp), %r9
	xorl	%r10d, %r10d
	.p2align	4
.LBB0_5:
	xorl	%r8d, %r8d
	movq	%r9, %r11
	.p2align	4
.LBB0_6:
	vmovdqu	-2048(%rcx,%r8), %ymm6
	vmovdqu	(%rcx,%r8), %ymm7
	vmovdqa	%ymm6, %ymm8
	vpermt2w	%ymm7, %ymm0, %ymm8
	vpermt2w	%ymm7, %ymm1, %ymm6
	vmovdqa	%ymm8, -32(%r11)
	vmovdqa	%ymm6, (%r11)
	addq	$32768, %r11
	addq	$32, %r8
	cmpq	$1024, %r8
	jne	.LBB0_6
	incq	%r10
	addq	$64, %r9
	addq	$4096, %rcx
	cmpq	$512, %r10
	jne	.LBB0_5
	movq	%r12, 48(%rsp)
	movq	%r15, 56(%rsp)
	movq	%r15, 16(%rsp)
	movq	32(%rsp), %r10
	xorl	%r11d, %r11d
	.p2align	4
.LBB0_9:
	movq	%r14, %rcx
	movq	%r10, %r9
	xorl	%r12d, %r12d
	.p2align	4
.LBB0_10:
	movq	%r12, %r8
	shrq	$4, %r8
	imulq	$31744, %r8, %r8
	addq	%rcx, %r8
	movq	%r9, %rbx
	xorl	%r13d, %r13d
	.p2align	4
.LBB0_11:
	movq	%r13, %r15
	shrq	%r15
	imulq	$960, %r15, %r15
	vmovups	(%rbx), %ymm6
	vmovaps	%ymm6, (%r8,%r15)
	incq	%r13
	addq	$32, %rbx
	addq	$32, %r8
	cmpq	$64, %r13
	jne	.LBB0_11
	incq	%r12
	addq	$2048, %r9
	addq	$64, %rcx
	cmpq	$32, %r12
	jne	.LBB0_10
	movq	16(%rsp), %rbx
	movq	8(%rsp), %r12
	xorl	%ecx, %ecx
	.p2align	4
.LBB0_14:
	tilezero	%tmm0
	tilezero	%tmm1
	tilezero	%tmm2
	tilezero	%tmm3
	movl	$32, %r8d
	movq	%r12, %r9
	movq	%r14, %r13
	.p2align	4
.LBB0_15:
	tileloadd	(%r13,%rsi), %tmm4
	tileloadd	(%r9,%rsi), %tmm5
	tdpbf16ps	%tmm5, %tmm4, %tmm0
	leaq	32768(%r9), %r15
	tileloadd	(%r15,%rsi), %tmm6
	tdpbf16ps	%tmm6, %tmm4, %tmm1
	leaq	32768(%r13), %r15
	tileloadd	(%r15,%rsi), %tmm7
	tdpbf16ps	%tmm5, %tmm7, %tmm2
	addq	$1024, %r13
	addq	$1024, %r9
	tdpbf16ps	%tmm6, %tmm7, %tmm3
	decq	%r8
	jne	.LBB0_15
	tilestored	%tmm0, (%rdx,%rdi)
	tilestored	%tmm1, (%rax,%rdi)
	tilestored	%tmm2, 1984(%rax,%rdi)
	tilestored	%tmm3, 2048(%rax,%rdi)
	movq	%rdx, %r8
	movq	%rbx, %r9
	xorl	%r13d, %r13d
	.p2align	4
.LBB0_17:
	xorl	%r15d, %r15d
	.p2align	4
.LBB0_18:
	vmovdqa64	(%r8,%r15,2), %zmm6
	vpsrld	$16, %zmm6, %zmm7
	vpandd	%zmm2, %zmm7, %zmm8
	vpaddd	%zmm8, %zmm6, %zmm8
	vpaddd	%zmm3, %zmm8, %zmm8
	vpsrld	$16, %zmm8, %zmm8
	vcmpunordps	%zmm4, %zmm6, %k1
	vpord	%zmm5, %zmm7, %zmm8 {%k1}
	vpmovdw	%zmm8, (%r9,%r15)
	addq	$32, %r15
	cmpq	$32, %r15
	je	.LBB0_18
	incq	%r13
	addq	$2048, %r9
	subq	$-128, %r8
	cmpq	$32, %r13
	jne	.LBB0_17
	incq	%rcx
	addq	$65536, %r12
	addq	$64, %rbx
	cmpq	$16, %rcx
	jne	.LBB0_14
	incq	%r11
	addq	$65536, %r10
	addq	$65536, 16(%rsp)
	cmpq	$32, %r11
	jne	.LBB0_9
	movq	48(%rsp), %r12
	addq	$1024, %r12
	movq	56(%rsp), %r15
	addq	$1024, %r15
	movq	40(%rsp), %rcx
	testq	%rcx, %rcx
	leaq	1(%rcx), %r8
	je	.LBB0_4
	tilerelease
	movabsq	$free, %rbx
	movq	8(%rsp), %rdi
	vzeroupper
	callq	*%rbx
	movq	%r14, %rdi
	callq	*%rbx
	xorl	%eax, %eax
.LBB0_24:
	leaq	-40(%rbp), %rsp
	popq	%rbx
	popq	%r12
	popq	%r13
	popq	%r14
	popq	%r15
	popq	%rbp
	retq
.LBB0_2:
	movabsq	$free, %rbx
	movq	8(%rsp), %rdi
	callq	*%rbx
	movq	%r14, %rdi
	callq	*%rbx
	movl	$1, %eax
	jmp	.LBB0_24
.Lfunc_end0:
	.size	matmul, .Lfunc_end0-matmul

	.type	tiles.01000000000000000000000000000000400040004000400040004000400040000000000000000000000000000000000010101010101010100000000000000000,@object
	.section	.lrodata,"al",@progbits
	.p2align	6, 0x0
tiles.01000000000000000000000000000000400040004000400040004000400040000000000000000000000000000000000010101010101010100000000000000000:
	.asciz	"\001\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000@\000@\000@\000@\000@\000@\000@\000@\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\020\020\020\020\020\020\020\020\000\000\000\000\000\000\000"
	.size	tiles.01000000000000000000000000000000400040004000400040004000400040000000000000000000000000000000000010101010101010100000000000000000, 64

	.section	".note.GNU-stack","",@progbits
