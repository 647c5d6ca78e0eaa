# SPDX-License-Identifier: Apache-2.0
# Variables: make TARGET NAME=value

TEST    ?=#          test name (make list): sim, wave, golden
SEED    ?=#          seed (sim, wave, regress, bench: random; test, mutate, machines: 1)
CONFIG  ?=#          JSON file with accelerator parameters: sim, wave, demo, zoo, synth
TRACE   ?= 0#        1 writes build/sim/TEST/trace.pftrace: sim
AT      ?=#          cycle to draw, the failing one by default: wave
JOBS    ?= 2#        parallel jobs: test, regress, all campaigns
COUNT   ?=#          number of mutants (20): mutate; of configurations (40): machines
BUDGET  ?=#          minutes after which no task begins (60; zoo, accuracy: a day): regress, bench, all campaigns
SCHEDULER ?=#        Dask scheduler whose workers do the tasks (docs/howto/cluster.md): regress, bench, all campaigns
PARTS   ?=#          parts, by comma, all by default (latency100, batch4, mult48, bus128, codes, cost_model, speed): bench
SEEDS   ?= 1#        number of seeds: regress, bench (cost_model)
IMAGE   ?=#          picture, the bundled one by default: demo
MODEL   ?=#          .tflite or .onnx model to run, the bundled one by default: demo
LABELS  ?=#          text file with the classes of MODEL, one a line: demo
TASK    ?=#          task of MODEL, if its outputs do not tell: classification, detection, segmentation, pose: demo
SOUND   ?=#          .wav file to classify with MODEL: demo
FRONT_END ?=#        .tflite model that computes the features of SOUND: demo
MODELS  ?=#          a model, or a folder of .tflite and .onnx models: zoo, mlperf-tiny
RTL_MACS ?=#         MACs up to which a model runs on the RTL too (1,000,000): zoo
CIFAR10 ?=#          folder of the CIFAR-10 files: accuracy, mlperf-tiny
IMAGES  ?=#          number of test images, all by default: accuracy, mlperf-tiny
RTL     ?=#          number of images to run on the RTL too: accuracy, mlperf-tiny; 0: not on the RTL: family, sizes
DRIVER  ?= 0#        1 runs the images of RTL from a C program, through the driver: accuracy
CLOCK   ?=#          clock rate in MHz, the nominal one by default: mlperf-tiny
NETWORKS ?=#         networks, by comma, all by default: family
CONFIGS ?=#         configurations, by comma, all by default: sizes
BLOCKS  ?=#          blocks, by comma, all by default: synth
LIBERTY ?=#          cell library to map to, yosys's own gates by default: synth
QUIET   ?= 0#        1 prints no progress: all but test
PYTHON  ?= python3#  interpreter that creates .venv

# The variables reach the commands through the environment, so that no shell interprets their values.
variables := TEST SEED CONFIG TRACE AT JOBS COUNT BUDGET SCHEDULER PARTS SEEDS IMAGE MODEL LABELS TASK SOUND FRONT_END \
  MODELS RTL_MACS CIFAR10 IMAGES RTL DRIVER CLOCK NETWORKS CONFIGS BLOCKS LIBERTY QUIET PYTHON
export $(variables)
given := $(foreach name,$(.VARIABLES),$(if $(filter command,$(origin $(name))),$(name)))
unknown := $(filter-out $(variables) EYRIE_% CC CXX CXXFLAGS SHELL,$(given))
$(if $(unknown),$(error unknown variable $(unknown): make help lists the variables))

# Tests and campaigns start hundreds of Pythons; without this each would compile all sources again.
export PYTHONDONTWRITEBYTECODE :=

base := .venv/.base
dev := .venv/.dev
extras := cluster docs explore onnx pytorch quantize trace tvm
eyrie := .venv/bin/eyrie
quiet := $(if $(filter 1,$(QUIET)),--quiet)
campaign := $(quiet) --jobs="$$JOBS" $${BUDGET:+--budget="$$BUDGET"} $${SCHEDULER:+--scheduler="$$SCHEDULER"}

.DEFAULT_GOAL := help
.PHONY: demo sim wave list check test regress test-extras lint golden accuracy bench mutate machines mlperf-tiny zoo family sizes study synth docs clean help

demo: $(base) ## Run a photo through the simulated accelerator: [IMAGE] [MODEL [TASK] [LABELS] [SOUND [FRONT_END]]] [CONFIG]
	@$(eyrie) demo $(quiet) $${IMAGE:+--image="$$IMAGE"} $${MODEL:+--model="$$MODEL"} $${LABELS:+--labels="$$LABELS"} \
	  $${TASK:+--task="$$TASK"} $${SOUND:+--sound="$$SOUND"} $${FRONT_END:+--front-end="$$FRONT_END"} \
	  $${CONFIG:+--config="$$CONFIG"}

sim: $(dev) ## Run a simulation test: TEST [SEED] [CONFIG] [TRACE]
	@$(eyrie) sim $(quiet) $(if $(filter 1,$(TRACE)),--trace) $${SEED:+--seed="$$SEED"} \
	  $${CONFIG:+--config="$$CONFIG"} $${TEST:+-- "$$TEST"}

wave: $(dev) ## Run a simulation test with waveforms and draw a cycle: TEST [SEED] [CONFIG] [AT]
	@$(eyrie) wave $(quiet) $${AT:+--at="$$AT"} $${SEED:+--seed="$$SEED"} $${CONFIG:+--config="$$CONFIG"} \
	  $${TEST:+-- "$$TEST"}

list: $(dev) ## Print the simulation tests
	@$(eyrie) list

check: $(dev) ## Run a smoke test of about a minute
	@$(eyrie) check $(quiet)

test: $(dev) ## Run the tests: [JOBS] [SEED]
	@EYRIE_SEED="$$SEED" .venv/bin/python -m pytest -n "$$JOBS"

regress: $(dev) ## Run all tests with new seeds, also the tests that test leaves out: [SEED] [SEEDS]
	@$(eyrie) regress $(campaign) --seeds="$$SEEDS" $${SEED:+--seed="$$SEED"}

test-extras: $(dev) $(extras:%=.venv/.%) .venv/.onnx-dev ## Install all extras and run their tests: [JOBS] [SEED]
	@EYRIE_SEED="$$SEED" .venv/bin/python -m pytest -n "$$JOBS" tests/extras

lint: $(dev) ## Check RTL, Python and prose, in about four minutes; a warning is an error
	@$(eyrie) lint $(quiet)

golden: $(dev) ## Write inputs and expected outputs of a test, or of all tests: [TEST] [SEED]
	@$(eyrie) golden $(quiet) $${SEED:+--seed="$$SEED"} $${TEST:+-- "$$TEST"}

accuracy: $(dev) ## Print the top-1 accuracy, float and int8: CIFAR10 [IMAGES] [RTL [DRIVER]]
	@$(eyrie) accuracy $(campaign) $${CIFAR10:+--cifar10="$$CIFAR10"} \
	  $${IMAGES:+--images="$$IMAGES"} $${RTL:+--rtl="$$RTL"} $(if $(filter 1,$(DRIVER)),--driver)

bench: $(dev) ## Run the benchmark: cycles, stalls and bytes by layer, and its parts: [PARTS] [SEED] [SEEDS]
	@$(eyrie) bench $(campaign) --seeds="$$SEEDS" $${SEED:+--seed="$$SEED"} $${PARTS:+--parts="$$PARTS"}

mutate: $(dev) ## Apply mutations to the RTL; a testbench has to find each: [SEED] [COUNT]
	@$(eyrie) mutate $(campaign) --seed="$${SEED:-1}" --count="$${COUNT:-20}"

machines: $(dev) ## Test random configurations: legal ones must work: [SEED] [COUNT]
	@$(eyrie) machines $(campaign) --seed="$${SEED:-1}" --count="$${COUNT:-40}"

mlperf-tiny: $(base) ## Run the models of MLPerf Tiny on the RTL: MODELS [CLOCK] [CIFAR10 [IMAGES] [RTL]]
	@$(eyrie) mlperf-tiny $(campaign) $${MODELS:+--models="$$MODELS"} $${CLOCK:+--clock="$$CLOCK"} \
	  $${CIFAR10:+--cifar10="$$CIFAR10"} $${IMAGES:+--images="$$IMAGES"} $${RTL:+--rtl="$$RTL"}

zoo: $(base) ## Compile and run a model, or all of a folder, and compare it with the reference: MODELS [RTL_MACS] [CONFIG]
	@$(eyrie) zoo $(campaign) $${RTL_MACS:+--rtl-macs="$$RTL_MACS"} $${CONFIG:+--config="$$CONFIG"} \
	  $${MODELS:+-- "$$MODELS"}

family: $(base) ## Compare 38 networks with roofline and prediction; resumes: [RTL] [NETWORKS]
	@$(eyrie) family $(campaign) $${RTL:+--rtl="$$RTL"} $${NETWORKS:+--networks="$$NETWORKS"}

sizes: $(base) ## Run the bundled network on configurations of many sizes; resumes: [RTL] [CONFIGS]
	@$(eyrie) sizes $(campaign) $${RTL:+--rtl="$$RTL"} $${CONFIGS:+--configs="$$CONFIGS"}

study: $(base) ## Compare the numbers of the literature with those of this project: docs/research/study.md
	@$(eyrie) study $(campaign)

synth: .venv/.synth ## Print gates, registers and longest paths by block: [CONFIG] [BLOCKS] [LIBERTY]
	@$(eyrie) synth $(quiet) $${CONFIG:+--config="$$CONFIG"} $${BLOCKS:+--blocks="$$BLOCKS"} $${LIBERTY:+--liberty="$$LIBERTY"}

docs: .venv/.docs ## Build the documentation as a site in build/site
	@$(eyrie) docs $(quiet)

extra-%: .venv/.% ## Install an extra of pyproject.toml (cluster, dev, docs, explore, onnx, pytorch, quantize, trace, tvm): extra-onnx
	@:

clean: ## Remove build/, but not .venv
	@rm -rf build

help: ## Print this
	@echo 'Targets:'
	@awk -F ':.*## ' '/^[a-z%-]+:.*## / {printf "  %-11s %s\n", $$1, $$2}' Makefile
	@echo 'Variables:'
	@awk -F ' *[?]= *|# *' '/^[A-Z0-9_]+ *[?]=/ {printf "  %-10s %-9s %s\n", $$1, $$2, $$3}' Makefile

locked := pyproject.toml requirements.txt scripts/setup_venv.sh

.venv/.base: $(locked)
	@scripts/setup_venv.sh base

.PRECIOUS: .venv/.%
.venv/.%: $(locked) .venv/.base
	@scripts/setup_venv.sh $*
