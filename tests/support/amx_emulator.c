/* Emulates AMX instructions on processors without AMX: they raise SIGILL, and the handler runs them
   on tiles of its own. Encodings and meaning: Intel, "Architecture Instruction Set Extensions
   Programming Reference", chapter 3. */
#define _GNU_SOURCE
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

enum { LDTILECFG, STTILECFG, TILERELEASE, TILEZERO, TILELOADD, TILESTORED, TDP, KINDS };

/* Static thread-local memory of a library loaded late is scarce: one pointer. */
static struct state {
  uint8_t config[64];
  uint8_t tiles[8][16][64];
} states[256];
static int used;
static __thread struct state *own;
#define config (own->config)
#define tiles (own->tiles)
static int64_t counts[KINDS];
static struct sigaction previous;

static void counted(int kind) { __atomic_fetch_add(&counts[kind], 1, __ATOMIC_RELAXED); }
static int rows_of(int tile) { return config[48 + tile]; }
static int bytes_of(int tile) { return config[16 + 2 * tile]; }

static float flushed(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  if (!(bits & 0x7f800000u)) bits &= 0x80000000u;
  memcpy(&value, &bits, 4);
  return value;
}

static float from_bf16(const uint8_t *bytes) {
  uint32_t bits = (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 24;
  float value;
  memcpy(&value, &bits, 4);
  return flushed(value);
}

static void dot_bf16(int sums, int a, int b) {
  for (int row = 0; row < rows_of(sums); row++)
    for (int lane = 0; lane < bytes_of(sums) / 4; lane++) {
      float part[2] = {0, 0}, sum;
      for (int group = 0; group < bytes_of(a) / 4; group++)
        for (int term = 0; term < 2; term++)
          part[term] = flushed(fmaf(from_bf16(&tiles[a][row][4 * group + 2 * term]),
                                    from_bf16(&tiles[b][group][4 * lane + 2 * term]), part[term]));
      memcpy(&sum, &tiles[sums][row][4 * lane], 4);
      sum = flushed(flushed(sum) + flushed(part[0] + part[1]));
      memcpy(&tiles[sums][row][4 * lane], &sum, 4);
    }
}

static void dot_bytes(int sums, int a, int b, int a_signed, int b_signed) {
  for (int row = 0; row < rows_of(sums); row++)
    for (int lane = 0; lane < bytes_of(sums) / 4; lane++) {
      uint32_t sum;
      memcpy(&sum, &tiles[sums][row][4 * lane], 4);
      for (int group = 0; group < bytes_of(a) / 4; group++)
        for (int term = 0; term < 4; term++) {
          uint8_t left = tiles[a][row][4 * group + term], right = tiles[b][group][4 * lane + term];
          int32_t x = a_signed ? (int8_t)left : left, y = b_signed ? (int8_t)right : right;
          sum += (uint32_t)(x * y);
        }
      memcpy(&tiles[sums][row][4 * lane], &sum, 4);
    }
}

/* Rows and bytes beyond the shape are zero after every instruction that writes a tile. */
static void clear_outside(int tile) {
  for (int row = 0; row < 16; row++) {
    int kept = row < rows_of(tile) ? bytes_of(tile) : 0;
    memset(&tiles[tile][row][kept], 0, 64 - kept);
  }
}

static int valid_product(int sums, int a, int b) {
  return sums != a && sums != b && a != b && rows_of(sums) && rows_of(a) && rows_of(b) &&
         rows_of(sums) == rows_of(a) && bytes_of(sums) == bytes_of(b) &&
         bytes_of(a) / 4 == rows_of(b) && !(bytes_of(a) & 3) && !(bytes_of(b) & 3);
}

static const int REGISTERS[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                  REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                  REG_R12, REG_R13, REG_R14, REG_R15};

/* Run the instruction at the instruction pointer; return its length, or 0 if it is not of AMX. */
static int run(greg_t *registers) {
  if (!own) own = &states[__atomic_fetch_add(&used, 1, __ATOMIC_RELAXED) % 256];
  const uint8_t *code = (const uint8_t *)registers[REG_RIP];
  if (code[0] != 0xc4 || (code[1] & 0x1f) != 2 || (code[2] & 0x84)) return 0;
  int x = !(code[1] & 0x40), b = !(code[1] & 0x20), third = ~(code[2] >> 3) & 15, prefix = code[2] & 3;
  int opcode = code[3], mod = code[4] >> 6, reg = code[4] >> 3 & 7, rm = code[4] & 7, length = 5;
  if (mod == 3) {
    if (opcode == 0x49 && prefix == 0 && code[4] == 0xc0) {
      memset(config, 0, sizeof config);
      memset(tiles, 0, sizeof tiles);
      return counted(TILERELEASE), length;
    }
    if (opcode == 0x49 && prefix == 3 && rows_of(reg)) {
      memset(tiles[reg], 0, sizeof tiles[reg]);
      return counted(TILEZERO), length;
    }
    if ((opcode != 0x5c && opcode != 0x5e) || !valid_product(reg, rm, third)) return 0;
    if (opcode == 0x5c && prefix != 2) return 0;
    if (opcode == 0x5c) dot_bf16(reg, rm, third);
    /* The prefixes are: none uu, 66 us, F3 su, F2 ss. */
    if (opcode == 0x5e) dot_bytes(reg, rm, third, prefix >= 2, prefix & 1);
    clear_outside(reg);
    return counted(TDP), length;
  }
  uint64_t base, index = 0;
  if (rm == 4) {
    int sib = code[length++], number = (sib >> 3 & 7) | x << 3;
    if (number != 4) index = (uint64_t)registers[REGISTERS[number]] << (sib >> 6);
    if ((sib & 7) == 5 && mod == 0) return 0;
    base = (uint64_t)registers[REGISTERS[(sib & 7) | b << 3]];
  } else {
    if (rm == 5 && mod == 0) {
      int32_t distance;
      memcpy(&distance, code + length, 4);
      base = (uint64_t)(code + length + 4) + (int64_t)distance;
      length += 4;
    } else {
      base = (uint64_t)registers[REGISTERS[rm | b << 3]];
    }
  }
  if (mod == 1) base += (int64_t)(int8_t)code[length++];
  if (mod == 2) {
    int32_t distance;
    memcpy(&distance, code + length, 4);
    base += (int64_t)distance;
    length += 4;
  }
  if (opcode == 0x49 && prefix == 0) {
    memcpy(config, (void *)base, 64);
    memset(tiles, 0, sizeof tiles);
    return counted(LDTILECFG), length;
  }
  if (opcode == 0x49 && prefix == 1) {
    memcpy((void *)base, config, 64);
    return counted(STTILECFG), length;
  }
  if (opcode != 0x4b || rm != 4 || prefix == 0 || !rows_of(reg)) return 0;
  int stores = prefix == 2;
  for (int row = 0; row < rows_of(reg); row++) {
    void *memory = (void *)(base + row * index);
    if (stores) memcpy(memory, tiles[reg][row], bytes_of(reg));
    else memcpy(tiles[reg][row], memory, bytes_of(reg));
  }
  if (!stores) clear_outside(reg);
  return counted(stores ? TILESTORED : TILELOADD), length;
}

static void handle(int signal, siginfo_t *info, void *context) {
  (void)signal, (void)info;
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  int length = run(registers);
  if (length) registers[REG_RIP] += length;
  else sigaction(SIGILL, &previous, 0); /* The instruction runs again and meets the old handler. */
}

void install(void) {
  struct sigaction action = {0};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO;
  memset(counts, 0, sizeof counts);
  sigaction(SIGILL, &action, &previous);
}

void uninstall(void) { sigaction(SIGILL, &previous, 0); }

int64_t count(int kind) { return counts[kind]; }
