"""Names of the 64-bit x86 processors and features of LLVM 22.

LLVM ignores an unknown name with a warning on standard error, and has no function that lists the
names. So they are listed here; a test compares them with LLVM's own list.
"""

PROCESSORS = frozenset(
    """
    alderlake amdfam10 arrowlake arrowlake-s atom barcelona bdver1 bdver2 bdver3 bdver4 bonnell
    broadwell btver1 btver2 cannonlake cascadelake clearwaterforest cooperlake core-avx-i
    core-avx2 core2 corei7 corei7-avx diamondrapids emeraldrapids generic goldmont goldmont-plus
    gracemont grandridge graniterapids graniterapids-d haswell icelake-client icelake-server
    ivybridge k8 k8-sse3 knl knm lunarlake meteorlake nehalem nocona novalake opteron
    opteron-sse3 pantherlake penryn raptorlake rocketlake sandybridge sapphirerapids
    sierraforest silvermont skylake skylake-avx512 tigerlake tremont westmere wildcatlake x86-64
    x86-64-v2 x86-64-v3 x86-64-v4 znver1 znver2 znver3 znver4 znver5
    """.split()
)

# Instruction sets, and the tuning hints that concern vector code.
FEATURES = frozenset(
    """
    64bit adx aes amx-avx512 amx-bf16 amx-complex amx-fp16 amx-fp8 amx-int8 amx-movrs amx-tf32
    amx-tile avx avx10.1 avx10.2 avx2 avx512bf16 avx512bitalg avx512bw avx512cd avx512dq avx512f
    avx512fp16 avx512ifma avx512vbmi avx512vbmi2 avx512vl avx512vnni avx512vp2intersect
    avx512vpopcntdq avxifma avxneconvert avxvnni avxvnniint16 avxvnniint8 bmi bmi2 branchfusion
    ccmp cf cldemote clflushopt clwb clzero cmov cmpccxadd crc32 cx16 cx8 egpr enqcmd ermsb
    evex512 f16c false-deps-perm fast-gather fast-variable-crosslane-shuffle
    fast-variable-perlane-shuffle fma fma4 fsgsbase fsrm fxsr gfni hreset invpcid kl lwp lzcnt
    macrofusion mmx movbe movdir64b movdiri movrs mwaitx ndd nf nopl pclmul pconfig pku popcnt
    ppx prefer-128-bit prefer-256-bit prefer-no-gather prefer-no-scatter prefetchi prfchw
    ptwrite push2pop2 raoint rdpid rdpru rdrnd rdseed rtm sahf serialize sgx sha sha512 shstk
    slow-3ops-lea sm3 sm4 sse sse2 sse3 sse4.1 sse4.2 sse4a ssse3 tbm tsxldtrk uintr usermsr
    vaes vpclmulqdq vzeroupper waitpkg wbnoinvd widekl x87 xop xsave xsavec xsaveopt xsaves zu
    """.split()
)

INDISPENSABLE = frozenset("64bit sse sse2".split())
"""Features of every 64-bit x86 processor; LLVM aborts the process if one is off."""
