"""The instruction sets for which kernels are compiled.

A plain literal, because the compiler reads this file too (target.py).
"""

# ISA, as users name it -> its properties.
# abi: the calling convention of C and kernels, as for -mabi; "" if there is only one.
# march: extensions of the hart, as for -march. C that is linked with kernels may use all of them.
# plan_bits: the bits of bm_plan_t.isa, by their names in runtime_bm/plan/plan_abi.json.
# optional: extensions that not every hart with such vectors has. An environment names those that its hart has.
# unnamed: extensions of the hart that -march does not know yet. Kernel libraries encode their instructions themselves.
# vlen_bits: smallest VLEN, in bits, on which kernels may run; 0 without vectors.
# xlen: bits of a pointer.
ISAS = {
    "rv64gc": {
        "abi": "lp64d",
        "march": "rv64imafdc_zicsr_zifencei",
        "plan_bits": ["RV64"],
        "vlen_bits": 0,
        "xlen": 64,
    },
    "rv64gcp": {
        "abi": "lp64d",
        "march": "rv64imafdc_zicsr_zifencei",
        "plan_bits": ["RV64", "P"],
        "unnamed": ["p"],
        "vlen_bits": 0,
        "xlen": 64,
    },
    "rv64gcv_zfbfmin_zvfbfmin_zvl256b": {
        "abi": "lp64d",
        "march": "rv64imafdcv_zicsr_zifencei_zfbfmin_zvfbfmin_zvl256b",
        "optional": ["zfbfmin", "zvfbfmin"],
        "plan_bits": ["RV64", "V", "ZVFBFMIN"],
        "vlen_bits": 256,
        "xlen": 64,
    },
    "rv64gcv_zfbfmin_zvfbfwma_zvl256b": {
        "abi": "lp64d",
        "march": "rv64imafdcv_zicsr_zifencei_zfbfmin_zvfbfwma_zvl256b",
        "optional": ["zfbfmin", "zvfbfwma"],
        "plan_bits": ["RV64", "V", "ZVFBFMIN", "ZVFBFWMA"],
        "vlen_bits": 256,
        "xlen": 64,
    },
    "rv64gcv_zfh_zvfh_zvl128b": {
        "abi": "lp64d",
        "march": "rv64imafdcv_zicsr_zifencei_zfh_zvfh_zvl128b",
        "optional": ["zfh", "zvfh"],
        "plan_bits": ["RV64", "V", "ZVFH"],
        "vlen_bits": 128,
        "xlen": 64,
    },
    "rv64gcv_zfh_zvfh_zvl256b": {
        "abi": "lp64d",
        "march": "rv64imafdcv_zicsr_zifencei_zfh_zvfh_zvl256b",
        "optional": ["zfh", "zvfh"],
        "plan_bits": ["RV64", "V", "ZVFH"],
        "vlen_bits": 256,
        "xlen": 64,
    },
    "rv64gcv_zfh_zvfh_zvl512b": {
        "abi": "lp64d",
        "march": "rv64imafdcv_zicsr_zifencei_zfh_zvfh_zvl512b",
        "optional": ["zfh", "zvfh"],
        "plan_bits": ["RV64", "V", "ZVFH"],
        "vlen_bits": 512,
        "xlen": 64,
    },
    "rv64gcv_zfh_zvfh_zvl1024b": {
        "abi": "lp64d",
        "march": "rv64imafdcv_zicsr_zifencei_zfh_zvfh_zvl1024b",
        "optional": ["zfh", "zvfh"],
        "plan_bits": ["RV64", "V", "ZVFH"],
        "vlen_bits": 1024,
        "xlen": 64,
    },
    "rv64gcv_zvl128b": {
        "abi": "lp64d",
        "march": "rv64imafdcv_zicsr_zifencei_zvl128b",
        "plan_bits": ["RV64", "V"],
        "vlen_bits": 128,
        "xlen": 64,
    },
    "rv64gcv_zvl256b": {
        "abi": "lp64d",
        "march": "rv64imafdcv_zicsr_zifencei_zvl256b",
        "plan_bits": ["RV64", "V"],
        "vlen_bits": 256,
        "xlen": 64,
    },
    "rv64gcv_zvl256b_xsmtvdot": {
        "abi": "lp64d",
        "march": "rv64imafdcv_zicsr_zifencei_zvl256b",
        "plan_bits": ["RV64", "V", "XSMTVDOT"],
        "unnamed": ["xsmtvdot"],
        "vlen_bits": 256,
        "xlen": 64,
    },
    "rv64gcv_zvl256b_zvdot4a8i": {
        "abi": "lp64d",
        "march": "rv64imafdcv_zicsr_zifencei_zvl256b",
        "plan_bits": ["RV64", "V", "ZVDOT4A8I"],
        "unnamed": ["zvdot4a8i"],
        "vlen_bits": 256,
        "xlen": 64,
    },
    "rv64gcv_zvl512b": {
        "abi": "lp64d",
        "march": "rv64imafdcv_zicsr_zifencei_zvl512b",
        "plan_bits": ["RV64", "V"],
        "vlen_bits": 512,
        "xlen": 64,
    },
    "rv64gcv_zvl1024b": {
        "abi": "lp64d",
        "march": "rv64imafdcv_zicsr_zifencei_zvl1024b",
        "plan_bits": ["RV64", "V"],
        "vlen_bits": 1024,
        "xlen": 64,
    },
    "rv32imac": {
        "abi": "ilp32",
        "march": "rv32imac_zicsr_zifencei",
        "plan_bits": ["RV32"],
        "vlen_bits": 0,
        "xlen": 32,
    },
    "rv32imafc_zve32f_zvl128b": {
        "abi": "ilp32f",
        "march": "rv32imafc_zve32f_zvl128b",
        "plan_bits": ["RV32", "ZVE32F"],
        "vlen_bits": 128,
        "xlen": 32,
    },
    "rv32imc": {
        "abi": "ilp32",
        "march": "rv32imc_zicsr_zifencei",
        "plan_bits": ["RV32"],
        "vlen_bits": 0,
        "xlen": 32,
    },
    "x86_64": {
        "abi": "",
        "march": "x86-64-v2",
        "plan_bits": ["X86_64"],
        "vlen_bits": 0,
        "xlen": 64,
    },
}
