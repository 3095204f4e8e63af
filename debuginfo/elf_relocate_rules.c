#include "base/cleanup.h"
#include "debuginfo/elf_relocate_internal.h"

/* Younger than some elf.h. */
#define TYPE_RISCV_SET_ULEB128 60
#define TYPE_RISCV_SUB_ULEB128 61

static const struct relocation_rule x86_64_rules[] = {
    {R_X86_64_64, RELOCATION_SET, 64},
    {R_X86_64_32, RELOCATION_SET, 32},
    {R_X86_64_32S, RELOCATION_SET, 32},
    {R_X86_64_16, RELOCATION_SET, 16},
    {R_X86_64_8, RELOCATION_SET, 8},
    {R_X86_64_PC64, RELOCATION_DISTANCE, 64},
    {R_X86_64_PC32, RELOCATION_DISTANCE, 32},
    {R_X86_64_DTPOFF64, RELOCATION_IGNORED, 0},
    {R_X86_64_DTPOFF32, RELOCATION_IGNORED, 0},
    {R_X86_64_NONE, RELOCATION_IGNORED, 0},
};

static const struct relocation_rule i386_rules[] = {
    {R_386_32, RELOCATION_SET, 32},
    {R_386_16, RELOCATION_SET, 16},
    {R_386_8, RELOCATION_SET, 8},
    {R_386_PC32, RELOCATION_DISTANCE, 32},
    {R_386_TLS_LDO_32, RELOCATION_IGNORED, 0},
    {R_386_NONE, RELOCATION_IGNORED, 0},
};

static const struct relocation_rule aarch64_rules[] = {
    {R_AARCH64_ABS64, RELOCATION_SET, 64},       {R_AARCH64_ABS32, RELOCATION_SET, 32},
    {R_AARCH64_ABS16, RELOCATION_SET, 16},       {R_AARCH64_PREL64, RELOCATION_DISTANCE, 64},
    {R_AARCH64_PREL32, RELOCATION_DISTANCE, 32}, {R_AARCH64_TLS_DTPREL, RELOCATION_IGNORED, 0},
    {R_AARCH64_NONE, RELOCATION_IGNORED, 0},
};

static const struct relocation_rule arm_rules[] = {
    {R_ARM_ABS32, RELOCATION_SET, 32},        {R_ARM_TARGET1, RELOCATION_SET, 32},
    {R_ARM_ABS32_NOI, RELOCATION_SET, 32},    {R_ARM_ABS16, RELOCATION_SET, 16},
    {R_ARM_ABS8, RELOCATION_SET, 8},          {R_ARM_REL32, RELOCATION_DISTANCE, 32},
    {R_ARM_TLS_LDO32, RELOCATION_IGNORED, 0}, {R_ARM_NONE, RELOCATION_IGNORED, 0},
};

static const struct relocation_rule ppc64_rules[] = {
    {R_PPC64_ADDR64, RELOCATION_SET, 64},      {R_PPC64_UADDR64, RELOCATION_SET, 64},
    {R_PPC64_ADDR32, RELOCATION_SET, 32},      {R_PPC64_UADDR32, RELOCATION_SET, 32},
    {R_PPC64_REL64, RELOCATION_DISTANCE, 64},  {R_PPC64_REL32, RELOCATION_DISTANCE, 32},
    {R_PPC64_DTPREL64, RELOCATION_IGNORED, 0}, {R_PPC64_NONE, RELOCATION_IGNORED, 0},
    {R_PPC64_TOC, RELOCATION_IGNORED, 0}, /* the second word of a function descriptor */
};

static const struct relocation_rule ppc_rules[] = {
    {R_PPC_ADDR32, RELOCATION_SET, 32},     {R_PPC_UADDR32, RELOCATION_SET, 32},
    {R_PPC_REL32, RELOCATION_DISTANCE, 32}, {R_PPC_DTPREL32, RELOCATION_IGNORED, 0},
    {R_PPC_NONE, RELOCATION_IGNORED, 0},
};

static const struct relocation_rule s390_rules[] = {
    {R_390_64, RELOCATION_SET, 64},           {R_390_32, RELOCATION_SET, 32},
    {R_390_16, RELOCATION_SET, 16},           {R_390_8, RELOCATION_SET, 8},
    {R_390_PC64, RELOCATION_DISTANCE, 64},    {R_390_PC32, RELOCATION_DISTANCE, 32},
    {R_390_TLS_LDO64, RELOCATION_IGNORED, 0}, {R_390_TLS_LDO32, RELOCATION_IGNORED, 0},
    {R_390_NONE, RELOCATION_IGNORED, 0},
};

static const struct relocation_rule riscv_rules[] = {
    {R_RISCV_64, RELOCATION_SET, 64},
    {R_RISCV_32, RELOCATION_SET, 32},
    {R_RISCV_SET32, RELOCATION_SET, 32},
    {R_RISCV_SET16, RELOCATION_SET, 16},
    {R_RISCV_SET8, RELOCATION_SET, 8},
    {R_RISCV_SET6, RELOCATION_SET, 6},
    {R_RISCV_32_PCREL, RELOCATION_DISTANCE, 32},
    {R_RISCV_ADD64, RELOCATION_ADD, 64},
    {R_RISCV_ADD32, RELOCATION_ADD, 32},
    {R_RISCV_ADD16, RELOCATION_ADD, 16},
    {R_RISCV_ADD8, RELOCATION_ADD, 8},
    {R_RISCV_SUB64, RELOCATION_SUBTRACT, 64},
    {R_RISCV_SUB32, RELOCATION_SUBTRACT, 32},
    {R_RISCV_SUB16, RELOCATION_SUBTRACT, 16},
    {R_RISCV_SUB8, RELOCATION_SUBTRACT, 8},
    {R_RISCV_SUB6, RELOCATION_SUBTRACT, 6},
    {TYPE_RISCV_SET_ULEB128, RELOCATION_SET_ULEB, 0},
    {TYPE_RISCV_SUB_ULEB128, RELOCATION_SUBTRACT_ULEB, 0},
    {R_RISCV_TLS_DTPREL64, RELOCATION_IGNORED, 0},
    {R_RISCV_TLS_DTPREL32, RELOCATION_IGNORED, 0},
    {R_RISCV_RELAX, RELOCATION_IGNORED, 0},
    {R_RISCV_ALIGN, RELOCATION_IGNORED, 0},
    {R_RISCV_NONE, RELOCATION_IGNORED, 0},
};

static const struct relocation_rule mips_rules[] = {
    {R_MIPS_32, RELOCATION_SET, 32},
    {R_MIPS_64, RELOCATION_SET, 64},
    {R_MIPS_REL32, RELOCATION_SET, 32}, /* relative to nothing but the load address */
    {R_MIPS_TLS_DTPREL32, RELOCATION_IGNORED, 0},
    {R_MIPS_TLS_DTPREL64, RELOCATION_IGNORED, 0},
    {R_MIPS_NONE, RELOCATION_IGNORED, 0},
};

static const struct relocation_rule sparc_rules[] = {
    {R_SPARC_64, RELOCATION_SET, 64},
    {R_SPARC_UA64, RELOCATION_SET, 64},
    {R_SPARC_32, RELOCATION_SET, 32},
    {R_SPARC_UA32, RELOCATION_SET, 32},
    {R_SPARC_DISP32, RELOCATION_DISTANCE, 32},
    {R_SPARC_TLS_DTPOFF64, RELOCATION_IGNORED, 0},
    {R_SPARC_TLS_DTPOFF32, RELOCATION_IGNORED, 0},
    {R_SPARC_NONE, RELOCATION_IGNORED, 0},
};

struct machine_rules {
    uint16_t machine;
    const struct relocation_rule *rules;
    size_t count;
};

static const struct machine_rules machines[] = {
    {EM_X86_64, x86_64_rules, ARRAY_SIZE(x86_64_rules)},
    {EM_386, i386_rules, ARRAY_SIZE(i386_rules)},
    {EM_AARCH64, aarch64_rules, ARRAY_SIZE(aarch64_rules)},
    {EM_ARM, arm_rules, ARRAY_SIZE(arm_rules)},
    {EM_PPC64, ppc64_rules, ARRAY_SIZE(ppc64_rules)},
    {EM_PPC, ppc_rules, ARRAY_SIZE(ppc_rules)},
    {EM_S390, s390_rules, ARRAY_SIZE(s390_rules)},
    {EM_RISCV, riscv_rules, ARRAY_SIZE(riscv_rules)},
    {EM_MIPS, mips_rules, ARRAY_SIZE(mips_rules)},
    {EM_SPARCV9, sparc_rules, ARRAY_SIZE(sparc_rules)},
};

struct relocation_rule relocation_rule_find(uint16_t machine, uint32_t type) {
    for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
        if (machines[i].machine != machine)
            continue;
        for (size_t j = 0; j < machines[i].count; j++)
            if (machines[i].rules[j].type == type)
                return machines[i].rules[j];
    }
    return (struct relocation_rule){.type = type, .action = RELOCATION_UNKNOWN};
}
