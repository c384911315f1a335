# Everything the two commands need goes into .venv; see tools/setup.sh.
#
#   make demo SECONDS=20        make test ARGS='-k frames'        make -C path/to/here demo
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help demo test bench witness soak plot screenshots docs lint setup clean

RUN := tools/env.sh

# A relative BAG is looked for here, then where `make -C` was called.
bag = $$(realpath -qe "$(BAG)" || realpath -qm "$(PWD)/$(BAG)")

help:  ## this list
	@echo 'make demo | test | ...    on a machine without ROS, or with ROS 2 sourced'
	@sed -nE 's/^([a-z]+):.*## /  \1\t/p' $(firstword $(MAKEFILE_LIST))
	@echo 'PYTHON=python3.12 chooses the interpreter of .venv.'

demo: setup  ## the motor on a moving mount, table and panel (DEMO=bench, SECONDS=20, BAG=..., VIEW=0)
	@$(if $(filter 0,$(VIEW)),,tools/setup.sh view)
	@tools/terminal.sh $(RUN) python tools/demo.py $(if $(DEMO),--demo "$(DEMO)") \
	    $(if $(filter 0,$(VIEW)),,--view) \
	    $(if $(SECONDS),--seconds "$(SECONDS)") $(if $(BAG),--bag "$(bag)")

# A third worker, as many tests wait for others; files in the order of test/conftest.py.
test: setup  ## run all tests (ARGS='-k frames' picks some)
	@tools/setup.sh offline view docs
	@$(RUN) pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder $(ARGS)

bench: setup  ## measure one step and the loop, and print a table
	@tools/setup.sh offline
	@$(RUN) python tools/bench.py $(ARGS)

witness: setup  ## run the same motors in MuJoCo, and print how far both agree
	@$(RUN) python tools/witness.py

soak: setup  ## run under full load for MINUTES=10: memory, lost steps, what is kept
	@$(RUN) python tools/soak.py $(if $(MINUTES),--minutes "$(MINUTES)") $(ARGS)

plot: setup  ## draw the pictures of the README and of the pages in doc/
	@tools/setup.sh offline
	@$(RUN) python tools/plot.py $(ARGS)
	@$(RUN) python tools/figures_of_doc.py

docs: setup  ## build the pages of doc/ as a site
	@tools/setup.sh docs
	@NO_MKDOCS_2_WARNING=1 $(RUN) mkdocs build --quiet
	@echo 'docs: open build/site/index.html in a browser; search needs a server: $(RUN) mkdocs serve'

screenshots: setup  ## make the picture of the panel, with Debian's chromium
	@tools/setup.sh view docs
	@$(RUN) python tools/screenshots.py $(ARGS)

lint: setup  ## check style and types
	$(RUN) ruff check
	$(RUN) ruff format --check
	$(RUN) mypy

setup:  ## make .venv ready; the others do this by themselves
	@tools/setup.sh

clean:  ## remove .venv and all that was made
	rm -rf .venv .venv.lock build install log .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
