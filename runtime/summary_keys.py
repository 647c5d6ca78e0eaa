# SPDX-License-Identifier: Apache-2.0
"""The keys of every summary.json, with their meanings: the source of docs/reference/summary.md.

A test compares the keys of network runs, compilations, models and syntheses with this table.
"""

from dataclasses import dataclass

Keys = dict[str, str]


@dataclass(frozen=True)
class Section:
    """writer: who writes the keys, for the heading; about: an introduction; keys: key -> meaning with its unit."""

    writer: str
    about: str
    keys: Keys


RUN: Keys = {
    "test": "Name of the test or command.",
    "status": "`pass` or `fail`.",
    "reason": "Why the run failed, if `status` is `fail`.",
    "seed": "Seed of the run.",
    "seconds": "Wall-clock time.",
    "cycles": "Clock cycles of the simulation. `demo` and `bench`: of the accelerator from start to done.",
    "comparisons": "Values that were compared with the golden model.",
    "mismatches": "Values that differed.",
}
NETWORK: Keys = {
    "simulated_cycles": "`net` tests: cycles of the accelerator from start to done.",
    "simulated_seconds": "`net` tests: wall-clock time from start to interrupt.",
    "runs": "Number of runs, each of `images` images. The metrics are from the first run. Not in `net` tests.",
    "images": "Images of a run. All metrics except the two per image are totals over them.",
    "predicted_cycles": "Predicted cycles of the network. Null for a program without predictions.",
    "cycles_per_image": "`cycles` / `images`.",
    "dram_bytes_per_image": "DRAM bytes in both directions / `images`.",
    "macs": "MACs of the network, padding included.",
    "multipliers": "Multipliers of the accelerator.",
    "utilisation": "`macs` / (`multipliers` x `cycles`).",
    "roofline_cycles": "Sum over the layers of the larger of MACs / multipliers and parameter bytes / bytes per beat. "
    "Parameter bytes: weights and quantisation parameters.",
    "dram_read_bytes": "Bytes read at the AXI port, commands included.",
    "dram_write_bytes": "Bytes written at the AXI port.",
    "saved_by_codes": "DRAM bytes by which coded constants are shorter.",
    "compulsory_dram_bytes": "One byte per weight, 9 per output channel of a convolution, inputs and outputs once.",
    "dram_over_compulsory": "DRAM bytes in both directions / `compulsory_dram_bytes`.",
    "glb_read_bytes": "Bytes read from the GLB.",
    "glb_write_bytes": "Bytes written into the GLB.",
    "glb_bytes": "Bytes read and written in the GLB.",
    "energy_uJ": "2 pJ per MAC that is not zero-skipped, 10 pJ per GLB byte, 200 pJ per DRAM byte, "
    "11 pJ per decoded byte, 50 uW at 200 MHz.",
    "class": "Class that the accelerator found; of several outputs, by the first.",
    "golden_class": "Class that the golden model found.",
    "match": "True if all outputs are equal to the outputs of the golden model.",
    "counters": "Performance counters by name, see [counters](counters.md).",
    "units": "Cycles of each unit, see below.",
    "layers": "Entry for each fused operator, see below.",
    "host_share": "Share of the element operations that the host computes. Networks with CPU fallback only.",
    "host_operators": "Operators of the host: address in the model and name. Networks with CPU fallback only.",
    "parts": "Metrics of each subgraph of the accelerator. Networks with CPU fallback only.",
}
NETWORK_LAYER: Keys = {
    "name": "Name of the layer.",
    "kind": "As in a compilation.",
    "schedule": "Loops around its passes, outermost first (fusion and tiling).",
    "cycles": "Measured cycles: PE cycles of the layer's passes / number of PEs.",
    "predicted_cycles": "Predicted cycles of the same kind. Null for a program without predictions.",
    "mac_cycles": "`macs` / multipliers: a lower bound of the cycles.",
    "macs": "MACs.",
    "roofline_cycles": "Part of the roofline of the network.",
    "roofline_share": "`roofline_cycles` / `cycles`. Above 1 if weights arrive while earlier layers run.",
    "utilisation": "`macs` / (multipliers x `cycles`).",
    "zero_skipped": "Zero-skipped MACs in the interval since the previous layer ended.",
    "dram_bytes": "Bytes that the layer owns: weights, quantisation parameters, and feature maps in DRAM.",
    "dram_read_bytes": "Moved: DRAM bytes read in the interval.",
    "dram_write_bytes": "Moved: DRAM bytes written in the interval.",
    "glb_read_bytes": "GLB bytes read in the interval.",
    "glb_write_bytes": "GLB bytes written in the interval.",
    "units": "Cycles of each unit in the interval.",
    "counters": "Increments of the counters in the interval. `counters.cycles` is its length.",
    "limit": "Limit of the layer, in two or three words (read the report).",
    "reason": "The limit in sentences.",
    "suggestions": "`profile --suggest`: `change`s that lower the cycles of a layer above 1.3 times its roofline and "
    "2,000 cycles by 10 % or more. `before` and `predicted_cycles` are predictions without and with it.",
}
UNITS: Keys = {
    "pe": "Average of a PE: `busy` (MACS / multipliers), `wait_ifmap`, `wait_words`, `wait_filter`, `wait_psum`, "
    "`idle`.",
    "ifmap": "Stream: `stall` by the array (IFMAP_STALL), `wait` for the ofmap of an earlier pass (IFMAP_WAIT).",
    "filter": "Stream: `stall` by the array (FILTER_STALL), `wait` for a weight tile from DRAM (FILTER_WAIT).",
    "drain": "Psum readout: `busy` (DRAIN_BUSY), `stall` by the PPU (DRAIN_STALL).",
    "dma": "`busy` (DMA_BUSY); `wait`: a transfer waits for its wait counts (DMA_WAIT).",
    "glb": "`lost`: client cycles lost to bank conflicts (GLB_CONFLICTS).",
}
COMPILATION: Keys = {
    "images": "Images of a run.",
    "clock_hz": "Clock rate of the configuration, in Hz.",
    "cycles": "Predicted cycles of a run.",
    "roofline_cycles": "As in a network run.",
    "search_gap": "Share by which the estimate of the schedule is above its lower bound, with all transfers in time.",
    "milliseconds": "`cycles` at `clock_hz`.",
    "images_per_second": "`images` / time of a run.",
    "macs": "MACs of the network.",
    "dram_read_bytes": "Bytes read at the AXI port, commands included.",
    "dram_write_bytes": "Bytes written at the AXI port.",
    "command_bytes": "Bytes of commands; part of `dram_read_bytes`.",
    "saved_by_codes": "As in a network run.",
    "compulsory_dram_bytes": "As in a network run.",
    "glb_read_bytes": "Bytes read from the GLB.",
    "glb_write_bytes": "Bytes written into the GLB.",
    "energy_uJ": "As in a network run, without zero-skipped MACs.",
    "layers": "Entry for each layer, see below. `DIR/layers.csv` has the same, one line per layer.",
}
COMPILATION_LAYER: Keys = {
    "name": "Name of the layer.",
    "kind": "`conv`, `grouped`, `depthwise`, `pointwise`, `separable` or `fc`, with `+ average` or `+` the epilogue; "
    "of vector passes `move`, `average` or the operation.",
    "macs": "MACs.",
    "predicted_cycles": "Predicted PE cycles of the layer's passes / number of PEs.",
    "mac_cycles": "`macs` / multipliers: a lower bound of the cycles.",
    "utilisation": "`mac_cycles` / `predicted_cycles`.",
    "dram_bytes": "Bytes that the layer owns: weights, quantisation parameters, and feature maps in DRAM.",
    "dram_cycles": "Cycles of the DRAM port for `dram_bytes`. Some may lie in the time of earlier layers.",
    "roofline_cycles": "Part of the roofline of the network.",
    "glb_bytes": "GLB bytes read and written, transfers included.",
    "ifmap": "Memory of the ifmap: `DRAM`, `GLB`, or `GLB, ring of n rows` (a circular buffer).",
    "ofmap": "Memory of the ofmap: as `ifmap`, or `in place of the ifmap`, or `in n slices` (output-channel tiles).",
    "filters": "`resident`, or `in a ring` (circular buffer) of n chunks. Empty for other layers.",
}
MODEL: Keys = {
    "file": "Model file, by its path in the folder; `family`, `sizes`, `mlperf-tiny`: name of the network, the "
    "configuration or the benchmark.",
    "status": "`ok`: all outputs equal the reference. `rejected`: the model is not compiled. `wrong`: an output "
    "differs. `failed`: no result. `unchecked`: no reference runs it.",
    "reason": "Empty if `ok`; all obstacles if `rejected`; the first difference if `wrong`.",
    "outputs": "Values that were compared, over all inputs and back ends.",
    "differences": "Values that differ.",
    "reference": "`tflite-micro`, `litert`, or for ONNX `the golden model`.",
    "on_rtl": "True if the model ran on the RTL too.",
    "macs": "MACs.",
    "multipliers": "Multipliers of the accelerator.",
    "cycles": "Cycles of one input: measured if `on_rtl`, else predicted.",
    "predicted_cycles": "Cycles of one input by the cost model.",
    "roofline_cycles": "As in a network run.",
    "dram_bytes": "DRAM bytes of one input, both directions.",
    "compulsory_dram_bytes": "As in a network run.",
    "host_share": "Share of the element operations that the host computes.",
    "compile_s": "Seconds of compilation, start of the compiler included.",
    "compile_cpu_s": "CPU seconds of compilation.",
    "compile_peak_bytes": "Peak memory of the compiler.",
    "c_arena_bytes": "RAM of the tensors of the portable C program; null if it did not run.",
    "energy_uJ": "Energy of one input, as in a network run; null unless `on_rtl`.",
}
MLPERF_MODEL: Keys = {
    "model": "Name of the model file.",
    "latency_ms": "`cycles` at `clock_hz`, in ms.",
    "utilisation": "`macs` / (`multipliers` x `cycles`).",
    "vela": "Estimates of Vela by accelerator, see below; empty without Vela.",
}
MLPERF_ESTIMATE: Keys = {
    "system_config": "System configuration in Vela's `vela.ini`.",
    "memory_mode": "Memory mode in Vela's `vela.ini`.",
    "clock_hz": "Clock rate of the system configuration, in Hz.",
    "cycles": "Cycles of one input, memory accesses included.",
    "npu_cycles": "Cycles of one input without memory accesses.",
    "latency_ms": "Time of one input, in ms.",
    "weights_memory": "Memory of the weights.",
    "feature_maps_memory": "Memory of the feature maps.",
    "off_chip_bytes": "Bytes of DRAM and off-chip flash for one input, both directions.",
    "off_chip_bytes_per_cycle": "Bandwidth of the memory that has the weights, in bytes a cycle.",
}
MLPERF: Keys = {
    "clock_hz": "Clock rate for latency and energy, in Hz.",
    "inputs": "Random inputs of each model.",
    "vela_version": "Version of Vela; null without Vela.",
    "accuracy": "With `--cifar10`: `images`, `int8_top1` (percent, portable C), `rtl_images`, and of these "
    "`comparisons` and `mismatches`. Else null.",
}
TRIALS: Keys = {
    "cycles_over_roofline": "`cycles` / `roofline_cycles`.",
    "dram_over_compulsory": "`dram_bytes` / `compulsory_dram_bytes`.",
    "prediction_error": "`predicted_cycles` / `cycles` - 1; null unless `on_rtl`.",
    "compile_peak_mib": "`compile_peak_bytes` in MiB.",
    "left": "`sizes`, `family`, `zoo`: names that the time budget left out.",
}
SYNTHESIS: Keys = {
    "parameters": "RTL parameters of the accelerator, by name.",
    "cells": "Gates and registers.",
    "flip_flop_bits": "Bits of registers.",
    "memory_bits": "Bits of memories, which are black boxes.",
    "gate_equivalents": "Area of gates and registers in NAND2 equivalents, without memories.",
    "multiplier_gate_equivalents": "Area of all `dot4`, with their registers.",
    "requantizer_gate_equivalents": "Area of all `requantizer`, with their registers.",
    "longest_path_cells": "Gates on the longest path.",
    "library": "`yosys's gates`, or the name of the Liberty file.",
    "memories": "Bits of one instance, by module that is a memory.",
    "blocks": "Entry for each module, see below.",
    "paths": "Longest path from one block to another, longest first, at most 40.",
}
SYNTHESIS_BLOCK: Keys = {
    "instances": "Instances in the accelerator.",
    "cells": "Gates and registers of one instance; of the largest if parameters differ.",
    "flip_flop_bits": "Bits of registers.",
    "memory_bits": "Bits of memories.",
    "gate_equivalents": "Area in NAND2 equivalents.",
    "gate_equivalents_of_all": "Area of all instances.",
    "longest_path_cells": "Gates on the longest path of the block by itself.",
    "path_start": "Register, memory pin or port at the start of the path.",
    "path_end": "Register, memory pin or port at the end of the path.",
    "path_through": "Instances along the path: path, gates in it, last named net in it.",
    "ecp5_fmax_mhz": "Clock rate in an ECP5 in MHz, or null.",
    "ecp5_reason": "Reason why the clock rate is missing.",
}
BENCH: Keys = {
    "skipped": "Parts that were not requested, or that the time budget left out.",
    "bars": "Thresholds: `key`, `comparison` (`<=` or `>=`), `limit`, `value` (null: not measured), `met`. If one is "
    "not "
    "met, `status` is `fail`.",
    "latency100": "Network run of one image at a DRAM latency of 100 cycles.",
    "batch4": "Network run of four images at once: the photo, mirrored, upside down, both.",
    "mult48": "Network run of one image with 48 multipliers, one per PE.",
    "codes": "Network run of one image with a decoder of coded weights and two filter lanes.",
    "bus128": "Network run of one image with a DRAM port and a filter port of 128 bits.",
    "cost_model": "Predicted and measured cycles. `network`: the layers of the network; `layers`: random layers and "
    "those "
    "of the network, how many are `within` the bound, the worst, random layers `drawn` and `rejected`, those `missed`.",
    "speed": "Speed of the simulators `cocotb` and `soc`: `seconds` (best of five), `cycles_per_second`; `ratio`: "
    "speed "
    "of cocotb / speed of the simulated SoC.",
}
OPERATORS: Keys = {
    "layers": "Of each layer `name`, `roofline_cycles`, `bound` (`multipliers`, `DRAM` or `words`), "
    "`predicted_cycles`; "
    "if it ran, `cycles` (counter), `clocked_cycles` (first register write to the end of the stream), `match`, "
    "`compiled_share` (counted / clocked), `roofline_share` (roofline / clocked or predicted).",
    "bars": "Thresholds of the last two.",
}
PASSES: Keys = {
    "pass_cycles": "Cycles from PASS to pass done, all passes together.",
    "finishes": "Passes with maxima, with a residual addition, with ipsum and ofmap, folded with ofmap.",
    "passes": "`array` tests: passes.",
    "macs": "`array` tests: MACs.",
    "right": "`streams0`: verdicts of valid streams. The test also counts `overrun`, `overrun_hangs`, "
    "`missing` "
    "and `missing_overrun`.",
}
MUTATE: Keys = {
    "mutants": "Mutations that were tried.",
    "killed": "Mutations that a testbench found.",
    "survivors": "Mutations that no testbench found.",
    "left": "Places of the mutations that the time budget left out.",
    "results": "Of each mutation `file`, `line`, `before`, `after`, `result`, the `bench` that failed and its "
    "`reason`.",
}
MACHINES: Keys = {
    "configs": "Random configurations.",
    "legal": "Legal configurations.",
    "works": "Legal configurations that work.",
    "rejected": "Illegal configurations that were rejected.",
    "wrong": "Numbers of the configurations with a wrong result.",
    "skipped": "Numbers of the configurations that the time budget left out.",
    "values": "By parameter, the values of configurations that worked.",
    "results": "Of each configuration `number`, `config`, `verdict`, `reason`; of a legal one `cycles`, "
    "`comparisons`, "
    "`mismatches` and `seconds` of its testbench.",
}
FAMILY: Keys = {
    "geometric_mean": "`family`: geometric mean of `cycles_over_roofline` of MobileNetV1 and V2; null unless all are "
    "done.",
    "most_over_roofline": "`family`: largest of these.",
    "searched_over_roofline": "`family`: largest `cycles_over_roofline` of the other networks.",
    "worst_prediction_error": "`family`: largest `prediction_error`, without its sign.",
    "bars": "`family`: thresholds, as `bench` has them.",
    "pairs": "`sizes`: pairs of a `smaller` and a `larger` configuration, their ratio of cycles less 1 (`predicted`, "
    "`measured`), and whether the larger one is not slower (`met`).",
}
EXPLORE: Keys = {
    "combinations": "Combinations of values in the space, also of illegal configurations.",
    "points": "Evaluated points.",
    "rows": "Of each point and model, and of all models together: `point`, `model`, the value of each parameter, "
    "`gate_equivalents` and `memory_bits` of the gate model, `status`, `reason`, predicted `cycles`, "
    "`roofline_cycles`, `macs`, `dram_bytes` and `energy_uJ`, `host_share`, `layers` with `name`, `cycles`, "
    "`dram_bytes` and `macs`, `pareto` (no other point of the model is better), and `measured_cycles` of the RTL.",
}
DATASET: Keys = {
    "records": "Number of records.",
    "errors": "Of each model of time, `mean`, `p50`, `p90` and `p100` (percentiles) of the absolute relative error of "
    "its cycles.",
}
STUDY: Keys = {
    "agree": "Numbers that equal the printed number.",
    "differ": "Numbers that differ from the printed number.",
    "texts": "By publication the rows: `table`, `what`, `printed`, `ours`, `note`, `agrees` (null: not comparable).",
}
ACCURACY: Keys = {
    "images": "Test images.",
    "float_top1": "Top-1 accuracy of the float model, percent.",
    "int8_top1": "Top-1 accuracy of the int8 model, percent.",
    "rtl_images": "Images whose logits on the RTL were compared.",
}
SECTIONS = (
    Section("Every run", "Every run leaves `build/NAME/summary.json` beside its log. Keys are stable.", RUN),
    Section("Network runs", "`net` tests, `demo`, `run`, `profile` and `bench` add these keys.", NETWORK),
    Section(
        "Layers of a network run",
        "Each entry of `layers` has these keys. Two passes that run at a time, each in some of the PEs, share the "
        "`cycles`. The last entry also has the cycles after its last pass left the array.",
        NETWORK_LAYER,
    ),
    Section("Units of a network run", "Each entry of `units` has cycles by state.", UNITS),
    Section("Benchmark", "`bench` has the keys of a network run of batch 1, and these.", BENCH),
    Section("Operator library", "`operators` adds these keys.", OPERATORS),
    Section("Runs of single passes", "`layer` and the tests `pass`, `array` and `streams` add these keys.", PASSES),
    Section("Mutations", "`mutate` writes these keys.", MUTATE),
    Section("Random configurations", "`machines` writes these keys.", MACHINES),
    Section(
        "Models",
        "`zoo`, `family`, `sizes` and `mlperf-tiny`: each entry of `models` has these keys. null: not known.",
        MODEL,
    ),
    Section("Benchmarks of networks", "`family` and `sizes` add these keys to each entry.", TRIALS),
    Section("Totals of network benchmarks", "`family` and `sizes` write these keys.", FAMILY),
    Section("MLPerf Tiny", "`mlperf-tiny` writes these keys.", MLPERF),
    Section("Models of MLPerf Tiny", "`mlperf-tiny` adds these keys to each entry of `models`.", MLPERF_MODEL),
    Section("Estimates of Vela", "`vela` of a model has these keys for each accelerator.", MLPERF_ESTIMATE),
    Section("Exploration", "`explore` writes these keys.", EXPLORE),
    Section("Data set of layers", "`dataset` writes these keys.", DATASET),
    Section("Literature", "`study` writes these keys.", STUDY),
    Section("Accuracy", "`accuracy` writes these keys.", ACCURACY),
    Section("Synthesis", "`synth` writes these keys; null for a run with `--blocks`.", SYNTHESIS),
    Section("Blocks of a synthesis", "Each entry of `blocks` has these keys, for one block.", SYNTHESIS_BLOCK),
    Section(
        "Summary of a compilation",
        "`eyrie compile MODEL -o DIR` writes `DIR/summary.json`. The numbers are predictions of the cost model.",
        COMPILATION,
    ),
    Section("Layers of a compilation", "Each entry of `layers` has these keys.", COMPILATION_LAYER),
)
