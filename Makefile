# Knobs: make TARGET KNOB=value

TEST    ?=#          test name (make list): sim, golden
SEED    ?=#          seed; sim draws and prints one, test and mutate take 1
WAVES   ?= 0#        1 writes build/TEST/dump.vcd: sim
JOBS    ?= 2#        tests at a time: test
COUNT   ?= 20#       mutants: mutate
BUDGET  ?= 60#       minutes after which no part or mutant begins: bench, mutate
PARTS   ?=#          parts, by comma, all by default (batch4, mult48, bus128, cost_model, speed): bench
IMAGE   ?=#          picture to classify, the shipped one by default: demo
CIFAR10 ?=#          folder of the CIFAR-10 files: accuracy
IMAGES  ?=#          number of test images, all by default: accuracy
RTL     ?=#          number of images to run on the RTL too: accuracy
PYTHON  ?= python3#  interpreter that creates .venv

export PYTHONPATH := $(CURDIR)
export PATH := $(CURDIR)/.venv/bin:$(PATH)

ready := .venv/.ready
py    := .venv/bin/python

.DEFAULT_GOAL := help
.PHONY: demo sim list test lint golden accuracy bench mutate clean help

demo: $(ready) ## Runs a photo through the simulated machine and names its class
	@$(py) scripts/demo.py $(if $(IMAGE),--image '$(IMAGE)')

sim: $(ready) ## Runs one simulation test: TEST [SEED] [WAVES]
	@$(py) -m tb.common.runner '$(TEST)' \
	  $(if $(SEED),--seed '$(SEED)') $(if $(filter 1,$(WAVES)),--waves)

list: $(ready) ## Prints the simulation tests
	@$(py) -m tb.common.runner --list

test: $(ready) ## Runs all tests: [JOBS] [SEED]
	@EYRIE_SEED=$(or $(SEED),1) $(py) -m pytest -n $(JOBS)

lint: $(ready) ## Checks the RTL with Verilator and slang, warnings being errors
	@$(py) scripts/lint.py

golden: $(ready) ## Writes stimulus and expected data of a test, or of all: [TEST]
	@$(py) scripts/gen_golden.py $(TEST)

accuracy: $(ready) ## Prints top-1 accuracy, float and int8: CIFAR10 [IMAGES] [RTL]
	@$(py) scripts/accuracy.py --cifar10 '$(CIFAR10)' \
	  $(if $(IMAGES),--images $(IMAGES)) $(if $(RTL),--rtl $(RTL))

bench: $(ready) ## Prints cycles, stalls and bytes by layer, and the parts: [PARTS] [BUDGET]
	@$(py) scripts/bench.py --budget $(BUDGET) $(if $(PARTS),--parts '$(PARTS)')

mutate: $(ready) ## Plants one-line errors in the RTL; a bench has to find each: [SEED] [COUNT] [BUDGET]
	@$(py) scripts/mutate.py --seed $(or $(SEED),1) --count $(COUNT) --budget $(BUDGET)

clean: ## Removes build/; .venv stays
	@rm -rf build

help: ## Prints this
	@echo 'Targets:'
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo 'Knobs:'
	@awk -F ' *[?]= *|# *' '/^[A-Z0-9]+ *[?]=/ {printf "  %-10s %-9s %s\n", $$1, $$2, $$3}' \
	  $(MAKEFILE_LIST)

$(ready): requirements.txt scripts/setup_venv.sh
	@PYTHON='$(PYTHON)' scripts/setup_venv.sh
