#include <endian.h>

#include "base/cleanup.h"
#include "debuginfo/elf_plt_internal.h"

static bool has_bytes(const struct plt_code *code, size_t offset, const char *bytes, size_t size) {
    return offset <= code->size && size <= code->size - offset &&
           memcmp(code->bytes + offset, bytes, size) == 0;
}

/* Little-endian, which x86 is, and instructions of AArch64, RISC-V and ARM's BE8 are; 0 behind the
 * end, which is no instruction looked for. */
static uint32_t read_u32(const struct plt_code *code, size_t offset) {
    uint32_t value;
    if (offset > code->size || code->size - offset < sizeof(value))
        return 0;
    memcpy(&value, code->bytes + offset, sizeof(value));
    return le32toh(value);
}

static uint64_t signed_u32(uint32_t value) {
    return (uint64_t)(int64_t)(int32_t)value;
}

/* --- x86 -----------------------------------------------------------------------------------------
 */

/* What may stand before the jump: an ENDBR and, of mold, the number of the function; a BND. */
static size_t x86_prefix_size(const struct plt_code *code, size_t offset, const char *endbr) {
    size_t at = offset;
    if (has_bytes(code, at, endbr, 4))
        at += 4;
    if (has_bytes(code, at, "\x41\xbb", 2)) /* mov $number, %r11d */
        at += 6;
    if (has_bytes(code, at, "\xf2", 1)) /* bnd */
        at += 1;
    return at - offset;
}

/* Behind the jump of six bytes a lazy stub pushes its number and jumps to the first one. */
static size_t x86_stub_size(const struct plt_code *code, size_t offset, size_t prefix_size) {
    size_t used = prefix_size + 6;
    bool is_lazy = has_bytes(code, offset + used, "\x68", 1);
    return is_lazy || used > 8 ? 16 : 8;
}

static bool match_x86_64(const struct plt_code *code, size_t offset, struct plt_match *ret_match) {
    size_t prefix_size = x86_prefix_size(code, offset, "\xf3\x0f\x1e\xfa");
    size_t jump = offset + prefix_size;
    if (!has_bytes(code, jump, "\xff\x25", 2)) /* jmp *distance(%rip) */
        return false;
    *ret_match = (struct plt_match){
        .size = x86_stub_size(code, offset, prefix_size),
        .slot = code->address + jump + 6 + signed_u32(read_u32(code, jump + 2)),
    };
    return true;
}

static bool match_i386(const struct plt_code *code, size_t offset, struct plt_match *ret_match) {
    size_t prefix_size = x86_prefix_size(code, offset, "\xf3\x0f\x1e\xfb");
    size_t jump = offset + prefix_size;
    uint32_t slot = read_u32(code, jump + 2);
    if (has_bytes(code, jump, "\xff\xa3", 2)) /* jmp *distance(%ebx) */
        slot += (uint32_t)code->got;
    else if (!has_bytes(code, jump, "\xff\x25", 2)) /* jmp *address */
        return false;
    *ret_match = (struct plt_match){
        .size = x86_stub_size(code, offset, prefix_size),
        .slot = slot,
    };
    return true;
}

/* --- AArch64: adrp x16, page; ldr x17, [x16, #low]; add x16, x16, #low; br x17 -----------------
 */

#define A64_BTI_C 0xd503245fu
#define A64_NOP 0xd503201fu
#define A64_BR_X17 0xd61f0220u
#define A64_STUB_MAX 24

static bool match_aarch64(const struct plt_code *code, size_t offset, struct plt_match *ret_match) {
    size_t start = read_u32(code, offset) == A64_BTI_C ? offset + 4 : offset;
    uint32_t adrp = read_u32(code, start);
    uint32_t ldr = read_u32(code, start + 4);
    if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
        return false;
    uint64_t page = (uint64_t)(adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3);
    if (page & 0x100000)
        page |= ~(uint64_t)0x1fffff;
    /* With branch protection autia1716 comes in, and nops make all stubs of one size. */
    size_t end = start + 8;
    while (end - offset < A64_STUB_MAX - 4 && read_u32(code, end) != A64_BR_X17)
        end += 4;
    end += 4;
    while (end - offset < A64_STUB_MAX && read_u32(code, end) == A64_NOP)
        end += 4;
    *ret_match = (struct plt_match){
        .size = end - offset,
        .slot = ((code->address + start) & ~(uint64_t)0xfff) + (page << 12) +
                8 * (uint64_t)(ldr >> 10 & 0xfff),
    };
    return true;
}

/* --- ARM: add ip, pc, #a; add ip, ip, #b; …; ldr pc, [ip, #c]! ---------------------------------
 */

#define ARM_ADD_MAX 3

/* An immediate is eight bits turned right by twice the field above them. */
static uint32_t arm_immediate(uint32_t instruction) {
    uint32_t turn = (instruction >> 8 & 0xf) * 2;
    uint32_t value = instruction & 0xff;
    return turn == 0 ? value : value >> turn | value << (32 - turn);
}

static bool match_arm(const struct plt_code *code, size_t offset, struct plt_match *ret_match) {
    size_t at = offset;
    if (has_bytes(code, at, "\x78\x47\xc0\x46", 4)) /* Thumb: bx pc; nop */
        at += 4;
    if ((read_u32(code, at) & 0xfffff000) != 0xe28fc000)
        return false;
    uint32_t slot = (uint32_t)code->address + (uint32_t)at + 8;
    uint32_t instruction = read_u32(code, at);
    for (int i = 0; i < ARM_ADD_MAX; i++) {
        slot += arm_immediate(instruction);
        at += 4;
        instruction = read_u32(code, at);
        if ((instruction & 0xfffff000) != 0xe28cc000) /* add ip, ip, # */
            break;
    }
    if ((instruction & 0xfffff000) != 0xe5bcf000) /* ldr pc, [ip, #]! */
        return false;
    slot += instruction & 0xfff;
    at += 4;
    if (read_u32(code, at) == 0xd4d4d4d4) /* lld fills up to sixteen bytes with traps */
        at += 4;
    *ret_match = (struct plt_match){.size = at - offset, .slot = slot};
    return true;
}

/* --- RISC-V: auipc t3, page; l[wd] t3, low(t3); jalr t1, t3; nop -------------------------------
 */

static bool match_riscv(const struct plt_code *code, size_t offset, struct plt_match *ret_match) {
    uint32_t auipc = read_u32(code, offset);
    uint32_t load = read_u32(code, offset + 4);
    if ((auipc & 0xfff) != 0xe17 || ((load & 0xfffff) != 0xe3e03 && (load & 0xfffff) != 0xe2e03) ||
        read_u32(code, offset + 8) != 0x000e0367)
        return false;
    uint64_t low = (uint64_t)((int64_t)(int32_t)load >> 20);
    *ret_match = (struct plt_match){
        .size = 16,
        .slot = code->address + offset + signed_u32(auipc & 0xfffff000) + low,
    };
    return true;
}

/* --- the machines --------------------------------------------------------------------------------
 */

static const struct plt_machine machines[] = {
    {EM_X86_64, 8, R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT, match_x86_64},
    {EM_386, 8, R_386_JMP_SLOT, R_386_GLOB_DAT, match_i386},
    {EM_AARCH64, 4, R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT, match_aarch64},
    {EM_ARM, 4, R_ARM_JUMP_SLOT, R_ARM_GLOB_DAT, match_arm},
    {EM_RISCV, 4, R_RISCV_JUMP_SLOT, R_RISCV_JUMP_SLOT, match_riscv},
};

const struct plt_machine *plt_machine_find(uint16_t machine) {
    for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
        if (machines[i].machine == machine)
            return &machines[i];
    return NULL;
}
