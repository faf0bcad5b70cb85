"""Ironcast's rules. This file is the whole public surface; providers are in providers.bzl.

    load("//tools/rules:defs.bzl", "bm_model", "bm_model_suite")

    bm_model(name = "mlp", src = "model.py", factory = "digits", deps = [requirement("torch")])
    bm_model_suite(name = "mlp_rv64", models = [":mlp"], vlens = [256, 1024], baseline = "baseline.txt")
"""

load("//tools/rules/private:any_isa_program.bzl", _any_isa_program = "any_isa_program")
load("//tools/rules/private:bm_assert_no_dependency.bzl", _bm_assert_no_dependency = "bm_assert_no_dependency")
load("//tools/rules/private:bm_baseline_test.bzl", _bm_baseline_test = "bm_baseline_test")
load("//tools/rules/private:bm_board.bzl", _bm_board = "bm_board")
load("//tools/rules/private:bm_chat.bzl", _bm_chat = "bm_chat")
load("//tools/rules/private:bm_debug.bzl", _bm_debug = "bm_debug")
load("//tools/rules/private:bm_demo.bzl", _bm_demo = "bm_demo")
load("//tools/rules/private:bm_exec_env.bzl", _bm_exec_env = "bm_exec_env")
load("//tools/rules/private:bm_export.bzl", _bm_export = "bm_export")
load("//tools/rules/private:bm_firmware.bzl", _bm_firmware = "bm_firmware")
load("//tools/rules/private:bm_firmware_test.bzl", _bm_firmware_test = "bm_firmware_test")
load("//tools/rules/private:bm_flash.bzl", _bm_flash = "bm_flash", _bm_flash_test = "bm_flash_test")
load("//tools/rules/private:bm_image.bzl", _bm_image = "bm_image")
load("//tools/rules/private:bm_kernel_library.bzl", _bm_kernel_library = "bm_kernel_library")
load("//tools/rules/private:bm_kernel_test.bzl", _bm_kernel_test = "bm_kernel_test")
load("//tools/rules/private:bm_library.bzl", _bm_library = "bm_library")
load("//tools/rules/private:bm_link_kit.bzl", _bm_link_kit = "bm_link_kit")
load("//tools/rules/private:bm_measured.bzl", _bm_measured = "bm_measured")
load("//tools/rules/private:bm_model.bzl", _bm_model = "bm_model", _bm_model_variant = "bm_model_variant")
load("//tools/rules/private:bm_model_suite.bzl", _bm_model_suite = "bm_model_suite")
load("//tools/rules/private:bm_report.bzl", _bm_report = "bm_report")
load("//tools/rules/private:bm_room_test.bzl", _bm_room_test = "bm_room_test")
load("//tools/rules/private:bm_run.bzl", _bm_run = "bm_run")
load("//tools/rules/private:bm_run_test.bzl", _bm_run_test = "bm_run_test")
load("//tools/rules/private:bm_runs.bzl", _bm_runs = "bm_runs")
load("//tools/rules/private:bm_runs_test.bzl", _bm_runs_test = "bm_runs_test")
load("//tools/rules/private:bm_sbom.bzl", _bm_sbom = "bm_sbom")
load("//tools/rules/private:bm_spike_extension.bzl", _bm_spike_extension = "bm_spike_extension")
load("//tools/rules/private:bm_terminal.bzl", _bm_terminal = "bm_terminal")
load("//tools/rules/private:bm_tokenizer.bzl", _bm_tokenizer = "bm_tokenizer")
load("//tools/rules/private:bm_validate.bzl", _bm_validate = "bm_validate")
load("//tools/rules/private:bm_weights.bzl", _bm_weights = "bm_weights")
load("//tools/rules/private:bm_workgroups_test.bzl", _bm_workgroups_test = "bm_workgroups_test")
load("//tools/rules/private:transitions.bzl", _env_name = "env_name")

any_isa_program = _any_isa_program
bm_assert_no_dependency = _bm_assert_no_dependency
bm_baseline_test = _bm_baseline_test
bm_board = _bm_board
bm_chat = _bm_chat
bm_debug = _bm_debug
bm_demo = _bm_demo
bm_exec_env = _bm_exec_env
bm_export = _bm_export
bm_firmware = _bm_firmware
bm_firmware_test = _bm_firmware_test
bm_flash = _bm_flash
bm_flash_test = _bm_flash_test
bm_image = _bm_image
bm_kernel_library = _bm_kernel_library
bm_kernel_test = _bm_kernel_test
bm_library = _bm_library
bm_link_kit = _bm_link_kit
bm_measured = _bm_measured
bm_model = _bm_model
bm_model_suite = _bm_model_suite
bm_model_variant = _bm_model_variant
bm_report = _bm_report
bm_room_test = _bm_room_test
bm_run = _bm_run
bm_run_test = _bm_run_test
bm_runs = _bm_runs
bm_runs_test = _bm_runs_test
bm_sbom = _bm_sbom
bm_spike_extension = _bm_spike_extension
bm_terminal = _bm_terminal
bm_tokenizer = _bm_tokenizer
bm_validate = _bm_validate
bm_weights = _bm_weights
bm_workgroups_test = _bm_workgroups_test
env_name = _env_name
