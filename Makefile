# SPDX-License-Identifier: Apache-2.0
# Knobs: make TARGET KNOB=value

TEST    ?=#          test name (make list): sim, golden
SEED    ?=#          seed; sim draws one, test, mutate and machines take 1
CONFIG  ?=#          JSON file with accelerator parameters: sim, demo, zoo
WAVES   ?= 0#        1 writes build/TEST/dump.vcd: sim
JOBS    ?= 2#        at a time: tests of test, configurations of machines, trials of family and sizes
COUNT   ?=#          mutants (20): mutate; configurations (40): machines
BUDGET  ?= 60#       minutes after which nothing more begins: regress, bench, mutate, machines, family, sizes
PARTS   ?=#          parts, by comma, all by default (latency100, batch4, mult48, bus128, cost_model, speed): bench
SEEDS   ?= 1#        fresh seeds: regress; of random layers for the cost model: bench
IMAGE   ?=#          picture to classify, the bundled one by default: demo
MODEL   ?=#          .tflite or .onnx model to run, the bundled one by default: demo
LABELS  ?=#          text file with the classes of MODEL, one a line: demo
MODELS  ?=#          folder of .tflite and .onnx models: zoo
RTL_MACS ?=#         multiplications up to which a model runs on the RTL too (1,000,000): zoo
CIFAR10 ?=#          folder of the CIFAR-10 files: accuracy
IMAGES  ?=#          number of test images, all by default: accuracy
RTL     ?=#          number of images to run on the RTL too: accuracy; 0: not on the RTL: family, sizes
DRIVER  ?= 0#        1 runs these from a C program, through the driver: accuracy
NETWORKS ?=#         networks, by comma, all by default: family
CONFIGS ?=#         configurations, by comma, all by default: sizes
BLOCKS  ?=#          blocks, by comma, all by default: synth
LIBERTY ?=#          cell library to map to, yosys's own gates by default: synth
QUIET   ?= 0#        1 says nothing of what is going on: all but test
PYTHON  ?= python3#  interpreter that creates .venv

# Knobs reach the commands as variables of the environment: no shell reads what is in them.
export TEST SEED CONFIG JOBS COUNT BUDGET PARTS SEEDS IMAGE MODEL LABELS MODELS RTL_MACS CIFAR10 IMAGES
export RTL NETWORKS CONFIGS BLOCKS LIBERTY PYTHON

# Tests and campaigns start hundreds of Pythons: each would compile all sources anew.
export PYTHONDONTWRITEBYTECODE :=

base := .venv/.base
dev := .venv/.dev
extras := docs onnx pytorch tvm
eyrie := .venv/bin/eyrie
quiet := $(if $(filter 1,$(QUIET)),--quiet)

.DEFAULT_GOAL := help
.PHONY: demo sim list check test regress test-extras lint golden accuracy bench mutate machines zoo family sizes study synth docs clean help

demo: $(base) ## Runs a photo through the simulated accelerator and names its class: [IMAGE] [MODEL [LABELS]] [CONFIG]
	@$(eyrie) demo $(quiet) $${IMAGE:+--image="$$IMAGE"} $${MODEL:+--model="$$MODEL"} $${LABELS:+--labels="$$LABELS"} \
	  $${CONFIG:+--config="$$CONFIG"}

sim: $(dev) ## Runs one simulation test: TEST [SEED] [CONFIG] [WAVES]
	@$(eyrie) sim $(quiet) $(if $(filter 1,$(WAVES)),--waves) $${SEED:+--seed="$$SEED"} \
	  $${CONFIG:+--config="$$CONFIG"} $${TEST:+-- "$$TEST"}

list: $(dev) ## Prints the simulation tests
	@$(eyrie) list

check: $(dev) ## A smoke test of about a minute
	@$(eyrie) check $(quiet)

test: $(dev) ## Runs all tests: [JOBS] [SEED]
	@EYRIE_SEED="$$SEED" .venv/bin/python -m pytest -n "$$JOBS"

regress: $(dev) ## Runs all tests with fresh seeds, also those that test leaves out: [SEEDS] [BUDGET] [JOBS]
	@$(eyrie) regress $(quiet) --seeds="$$SEEDS" --budget="$$BUDGET" --jobs="$$JOBS"

test-extras: $(dev) $(extras:%=.venv/.%) .venv/.onnx-dev ## Installs all optional parts and runs their tests: [JOBS] [SEED]
	@EYRIE_SEED="$$SEED" .venv/bin/python -m pytest -n "$$JOBS" tests/extras

lint: $(dev) ## Checks the RTL and the Python; a warning is an error; about four minutes
	@$(eyrie) lint $(quiet)

golden: $(dev) ## Writes stimulus and expected data of a test, or of all: [TEST] [SEED]
	@$(eyrie) golden $(quiet) $${SEED:+--seed="$$SEED"} $${TEST:+-- "$$TEST"}

accuracy: $(dev) ## Prints top-1 accuracy, float and int8: CIFAR10 [IMAGES] [RTL [DRIVER]]
	@$(eyrie) accuracy $(quiet) $${CIFAR10:+--cifar10="$$CIFAR10"} \
	  $${IMAGES:+--images="$$IMAGES"} $${RTL:+--rtl="$$RTL"} $(if $(filter 1,$(DRIVER)),--driver)

bench: $(dev) ## Prints cycles, stalls and bytes by layer, and the parts: [PARTS] [SEEDS] [BUDGET]
	@$(eyrie) bench $(quiet) --budget="$$BUDGET" --seeds="$$SEEDS" $${PARTS:+--parts="$$PARTS"}

mutate: $(dev) ## Plants one-line errors in the RTL; a bench has to find each: [SEED] [COUNT] [BUDGET]
	@$(eyrie) mutate $(quiet) --seed="$${SEED:-1}" --count="$${COUNT:-20}" --budget="$$BUDGET"

machines: $(dev) ## Draws configurations of any size: the legal ones have to work: [SEED] [COUNT] [BUDGET] [JOBS]
	@$(eyrie) machines $(quiet) --seed="$${SEED:-1}" --count="$${COUNT:-40}" --budget="$$BUDGET" --jobs="$$JOBS"

zoo: $(base) ## Compiles and runs every model of a folder, against the reference: MODELS [RTL_MACS] [CONFIG]
	@$(eyrie) zoo $(quiet) $${RTL_MACS:+--rtl-macs="$$RTL_MACS"} $${CONFIG:+--config="$$CONFIG"} \
	  $${MODELS:+-- "$$MODELS"}

family: $(base) ## Cycles of 26 MobileNets against roofline and prediction; goes on: [RTL] [NETWORKS] [BUDGET] [JOBS]
	@$(eyrie) family $(quiet) --budget="$$BUDGET" --jobs="$$JOBS" \
	  $${RTL:+--rtl="$$RTL"} $${NETWORKS:+--networks="$$NETWORKS"}

sizes: $(base) ## Cycles of the bundled network on configurations of many sizes; goes on: [RTL] [CONFIGS] [BUDGET] [JOBS]
	@$(eyrie) sizes $(quiet) --budget="$$BUDGET" --jobs="$$JOBS" \
	  $${RTL:+--rtl="$$RTL"} $${CONFIGS:+--configs="$$CONFIGS"}

study: $(base) ## What the literature prints beside what this project finds: docs/research/study.md
	@$(eyrie) study $(quiet)

synth: .venv/.synth ## Prints gates, registers and longest paths by block: [BLOCKS] [LIBERTY]
	@$(eyrie) synth $(quiet) $${BLOCKS:+--blocks="$$BLOCKS"} $${LIBERTY:+--liberty="$$LIBERTY"}

docs: .venv/.docs ## Builds the documentation as a site: build/site
	@$(eyrie) docs $(quiet)

extra-%: .venv/.% ## Installs an extra of pyproject.toml (docs, onnx, pytorch, tvm): extra-onnx
	@:

clean: ## Removes build/; .venv stays
	@rm -rf build

help: ## Prints this
	@echo 'Targets:'
	@awk -F ':.*## ' '/^[a-z%-]+:.*## / {printf "  %-11s %s\n", $$1, $$2}' Makefile
	@echo 'Knobs:'
	@awk -F ' *[?]= *|# *' '/^[A-Z0-9_]+ *[?]=/ {printf "  %-10s %-9s %s\n", $$1, $$2, $$3}' Makefile

locked := pyproject.toml requirements.txt scripts/setup_venv.sh

.venv/.base: $(locked)
	@scripts/setup_venv.sh base

.PRECIOUS: .venv/.%
.venv/.%: $(locked) .venv/.base
	@scripts/setup_venv.sh $*
