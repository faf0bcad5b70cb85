"""The C/C++ toolchains: for this x86-64 Linux host, and for 64-bit and 32-bit bare-metal RISC-V."""

load("@rules_cc//cc:defs.bzl", "cc_toolchain")
load("@users_clang//:defs.bzl", "USERS_INCLUDE_DIRECTORIES", "USERS_OWN")
load("//compiler/bmc:isas.bzl", "ISAS")
load(":cc_toolchain_config.bzl", "cc_toolchain_config")

_BIN = "@debian_llvm//:root/usr/lib/llvm-19/bin/"
_CLANG_HEADERS = "%workspace%/{}/root/usr/lib/llvm-19/lib/clang/19".format(Label("@debian_llvm//:root").workspace_root)
_SYSROOT = Label("@debian_sysroot//:root").workspace_root + "/root"

def _toolchain(name, files, exec_compatible_with, target_compatible_with, **config):
    """Defines a cc_toolchain and its registration.

    Args:
      name: name of the registration; its parts are name.cc, name.config, name.files.
      files: inputs of every action.
      exec_compatible_with: constraint values.
      target_compatible_with: constraint values.
      **config: attributes of cc_toolchain_config.
    """
    cc_toolchain_config(
        name = name + ".config",
        ar = _BIN + "llvm-ar",
        clang = _BIN + "clang",
        clangxx = _BIN + "clang++",
        objcopy = _BIN + "llvm-objcopy",
        strip = _BIN + "llvm-strip",
        **config
    )
    native.filegroup(name = name + ".files", srcs = files)
    cc_toolchain(
        name = name + ".cc",
        all_files = name + ".files",
        ar_files = name + ".files",
        as_files = name + ".files",
        compiler_files = name + ".files",
        dwp_files = name + ".files",
        linker_files = name + ".files",
        objcopy_files = name + ".files",
        strip_files = name + ".files",
        supports_param_files = True,
        toolchain_config = name + ".config",
    )
    native.toolchain(
        name = name,
        exec_compatible_with = exec_compatible_with,
        target_compatible_with = target_compatible_with,
        toolchain = name + ".cc",
        toolchain_type = "@bazel_tools//tools/cpp:toolchain_type",
    )

def host_toolchain(*, name):
    """Builds programs for this machine, with its own C library at run time and Debian's headers at build time.

    Args:
      name: name of the toolchain.
    """
    _toolchain(
        name = name,
        cpu = "k8",
        cxx_flags = ["-stdlib=libstdc++"],
        exec_compatible_with = ["@platforms//cpu:x86_64", "@platforms//os:linux"],
        files = ["@debian_llvm//:folders", "@debian_sysroot//:folders"],
        include_directories = USERS_INCLUDE_DIRECTORIES if USERS_OWN else [
            _CLANG_HEADERS,
            "%workspace%/" + _SYSROOT + "/usr",
        ],
        # Position independent by clang's default; a target may opt out (-no-pie).
        link_flags = ["-fuse-ld=lld", "-Wl,--build-id=none", "-Wl,-z,relro,-z,now"],
        opt_flags = ["-O2"],
        sanitizers = True,
        supports_pic = True,
        target_compatible_with = ["@platforms//cpu:x86_64", "@platforms//os:linux"],
        # A user's own clang knows its system's headers.
        target_flags = ["--target=x86_64-linux-gnu"] + ([] if USERS_OWN else ["--sysroot=" + _SYSROOT]),
        triple = "x86_64-linux-gnu",
    )

def riscv_toolchain(*, name, isa, libgcc = None):
    """Builds firmware for RISC-V without an operating system.

    It does not use the vector extension, because no vector instruction may run before the boot code has
    checked the length of the vector registers. IREE compiles kernels with its own flags.

    Args:
      name: name of the toolchain.
      isa: the ISA of C code.
      libgcc: functions that the compiler calls where the ISA has no instruction, e.g. __muldf3.
    """
    about = ISAS[isa]
    cpu = "riscv{}".format(about["xlen"])
    _toolchain(
        name = name,
        compile_flags = [
            "-ffreestanding",
            "-fno-common",
            "-fno-exceptions",

            # There is no errno, so a square root can be an instruction instead of a call.
            "-fno-math-errno",
            "-fno-pic",
            "-fno-stack-protector",
            "-fno-asynchronous-unwind-tables",
            "-fno-unwind-tables",
        ],
        cpu = cpu,
        cxx_flags = ["-fno-rtti", "-fno-threadsafe-statics"],
        # A user's own clang runs on the user's machine, whatever it is.
        exec_compatible_with = [] if USERS_OWN else ["@platforms//cpu:x86_64", "@platforms//os:linux"],
        # Unoptimized firmware is useless, and most people never pass `-c opt`.
        fastbuild_flags = ["-Os"],
        files = ["@debian_llvm//:folders"] + ([libgcc] if libgcc else []),
        include_directories = USERS_INCLUDE_DIRECTORIES if USERS_OWN else [_CLANG_HEADERS],
        libgcc = libgcc,
        link_flags = ["-nostdlib", "-static", "-fuse-ld=lld", "-Wl,--build-id=none", "-Wl,--gc-sections"],
        opt_flags = ["-Os"],
        target_compatible_with = ["@platforms//cpu:" + cpu, "@platforms//os:none"],
        target_flags = [
            "--target={}-unknown-elf".format(cpu),
            "-march=" + about["march"],
            "-mabi=" + about["abi"],
            "-mcmodel=medany",
        ],
        triple = cpu + "-unknown-elf",
    )
