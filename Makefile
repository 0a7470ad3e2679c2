# Needs Python 3.11+ with venv, a C++20 compiler and make. All else (cmake, ninja, Cython, libraries, test tools) comes
# from PyPI into .venv. Paths are relative, so that the clone may lie in a folder with a space in its name.
PYTHON ?= python3
VENV   ?= .venv
JOBS   ?= $(shell nproc 2>/dev/null || echo 2)
TESTS  ?= tests
# Networks at a time, one a core, for bench-netlab.
LANES  ?= 1
PAPER  ?=
# The build of PyTorch that test-frameworks installs.
TORCH  ?= torch==2.13.0
# Of each fuzz target.
FUZZ_SECONDS ?= 20
FUZZ_TARGETS ?=
# The Python tests that reach the kernel, for sanitize-python.
SANITIZED ?= tests/kernel tests/links tests/joint
# libFuzzer comes with clang; Debian's packages are clang-14 or clang-19, and libclang-rt-14-dev or libclang-rt-19-dev.
FUZZ_CXX     ?= $(shell .ci/fuzz_compiler)

BIN     := $(VENV)/bin
PY      := $(BIN)/python
PIP     := $(PY) -m pip -qq --disable-pip-version-check
# Recipes find the tools of the virtual environment first (cmake is there where the machine has none).
ON_PATH := PATH="$(CURDIR)/$(BIN):$$PATH"
SOURCES := $(shell find src agent csrc cmake -type f -not -name '*.pyc' -not -name '.*' 2>/dev/null) \
           CMakeLists.txt pyproject.toml README.md LICENSE

comma := ,

# Lines in what is reported, and half the time of compiling that -O2 -g takes with all the checks.
SANITIZER_FLAGS := -O1 -g1
# Leaks are looked for, and the first finding ends the program.
SANITIZER_OPTIONS := ASAN_OPTIONS=detect_leaks=1 TSAN_OPTIONS=halt_on_error=1 UBSAN_OPTIONS=print_stacktrace=1

# The runtimes must be there before Python is: an extension cannot bring them along.
SANITIZED_PYTHON = LD_PRELOAD="$$(c++ -print-file-name=libasan.so) $$(c++ -print-file-name=libstdc++.so.6)" \
  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc \
  PYTHONPATH="$(CURDIR)/build/sanitized" CASSINI_SANITIZED=1 HYPOTHESIS_PROFILE=sanitized $(PY)

.DEFAULT_GOAL := help
.PHONY: help pictures demo test test-kernel sanitize fuzz count test-python test-slow test-idle test-frameworks lint bench bench-quick \
        bench-ranking bench-prediction bench-control paper bench-netlab bench-beside netlab-quick check-answers wheel check-wheel check-hosts clean distclean check-free-threaded \
        sanitize-threads sanitize-python check-quick check-deep check-stubs check-lto
.DELETE_ON_ERROR:

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-19s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

pictures: $(VENV)/.installed ## draw the pictures of docs/pictures.md anew
	@$(PY) docs/images/pictures.py

demo: $(VENV)/.installed ## rank the placements of examples/three-racks.json, and make a page of the answer
	@echo "Three racks of a real cluster, two jobs that run and five that arrive: real training jobs profiled from"
	@echo "PyTorch traces, and jobs of the paper. Six placements to choose from (examples/README.md has the details)."
	@echo
	@echo "$$ cassini-core rank examples/three-racks.json"
	@$(BIN)/cassini-core rank examples/three-racks.json
	@mkdir -p build
	@echo
	@echo "$$ cassini-core report examples/three-racks.json -o build/three-racks.html"
	@$(BIN)/cassini-core report examples/three-racks.json -o build/three-racks.html

test: test-kernel test-python ## the kernel's tests and the fast Python tests

check-quick: $(VENV)/.lint ## lint and the tests of what changed since main: for daily work
	@$(PY) .ci/quick.py $(JOBS)

check-deep: $(VENV)/.lint $(VENV)/.fuzz $(VENV)/.dask $(VENV)/.bench ## all checks at full length, by hand, on an idle machine
	@$(PY) .ci/steps.py --keep-going lint "wheel check-wheel check-hosts" "sanitize-python SANITIZED=tests" test-python \
	  "fuzz FUZZ_SECONDS=120" test-slow sanitize-threads sanitize test-kernel count check-lto check-stubs \
	  check-answers --alone test-idle test-frameworks

test-kernel: $(VENV)/.tools ## the C++ tests of the kernel alone, warnings as errors
	@mkdir -p build
	@$(ON_PATH) cmake -S . -B build/kernel -DCASSINI_TESTS=ON -DCASSINI_WERROR=ON -DCMAKE_BUILD_TYPE=Release > build/kernel.log \
	  || { cat build/kernel.log; exit 1; }
	@$(ON_PATH) cmake --build build/kernel --parallel $(JOBS)
	@$(ON_PATH) ctest --test-dir build/kernel --output-on-failure --parallel $(JOBS)

# Link-time optimisation compares what different files say of one name: two classes of one name are a defect (-Wodr).
check-lto: $(VENV)/.tools ## the kernel built with link-time optimisation: no name is defined twice, differently
	@mkdir -p build
	@$(ON_PATH) cmake -S . -B build/lto -DCASSINI_LTO=ON -DCASSINI_TESTS=ON -DCASSINI_WERROR=ON -DCMAKE_BUILD_TYPE=Release \
	  > build/lto.log || { cat build/lto.log; exit 1; }
	@$(ON_PATH) cmake --build build/lto --parallel $(JOBS) --target cassini test_kernel
	@$(ON_PATH) ctest --test-dir build/lto --output-on-failure -R '^kernel$$'

# All of the kernel's tests under other sanitizers: folder, sanitizers, what runs ctest.
define sanitized
@mkdir -p build
@$(ON_PATH) cmake -S . -B build/$(1) -DCASSINI_TESTS=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="$(SANITIZER_FLAGS)" -DCASSINI_SANITIZE=$(2) > build/$(1).log || { cat build/$(1).log; exit 1; }
@$(ON_PATH) cmake --build build/$(1) --parallel $(JOBS)
@$(ON_PATH) $(3) ctest --test-dir build/$(1) --output-on-failure --parallel $(JOBS)
endef

sanitize: $(VENV)/.tools ## the C++ tests again under the address, leak and undefined-behaviour sanitizers
	$(call sanitized,sanitize,address$(comma)undefined,$(SANITIZER_OPTIONS))

# The addresses of GCC 12's thread sanitizer leave no room for much randomness, which some machines let nobody turn off.
sanitize-threads: $(VENV)/.tools ## the C++ tests again under the thread sanitizer
	$(call sanitized,sanitize-threads,thread,$(SANITIZER_OPTIONS) $$(setarch -R true 2> /dev/null && echo setarch -R))

# The package once more, in a folder that Python looks into before all others. Leaks: Python keeps too much to the end.
# What a sanitizer multiplies by too much is marked in the tests; the agent, which is Python alone, is left out.
sanitize-python: build/sanitized/.installed ## the Python tests that reach the kernel under the same; SANITIZED=tests for all
	@$(ON_PATH) $(SANITIZED_PYTHON) .ci/check_sanitized.py build/sanitized
	@$(ON_PATH) $(SANITIZED_PYTHON) -m pytest -q -n $(JOBS) -m "not slow and not idle" $(SANITIZED) --ignore=tests/agent

fuzz: $(VENV)/.fuzz ## hostile inputs for the kernel and the file readers, FUZZ_SECONDS (20) each; needs clang
	@test -n "$(FUZZ_CXX)" || { echo "clang++ with libFuzzer is needed (FUZZ_CXX=...)" >&2; exit 1; }
	@mkdir -p build/fuzz
	@$(ON_PATH) cmake -S . -B build/fuzz -DCASSINI_FUZZ=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo \
	  -DCMAKE_CXX_COMPILER="$(FUZZ_CXX)" > build/fuzz/configure.log || { cat build/fuzz/configure.log; exit 1; }
	@$(ON_PATH) cmake --build build/fuzz --parallel $(JOBS) > build/fuzz/build.log || { cat build/fuzz/build.log; exit 1; }
	@$(PY) tests/fuzz/run_all.py $(FUZZ_SECONDS) build/fuzz $(FUZZ_TARGETS)

# To compile the tests takes each worker some seconds: they stay compiled, whatever the environment says.
test-python: $(VENV)/.installed ## the fast Python tests, against the installed package
	@PYTHONDONTWRITEBYTECODE= $(PY) -m pytest -q -n $(JOBS) --dist worksteal -m "not slow and not idle" $(TESTS)

test-slow: $(VENV)/.dask ## the Python tests that take long and that few changes can break
	@$(PY) -m pytest -q -m slow $(TESTS)

test-idle: $(VENV)/.installed ## the Python tests that need a machine for themselves
	@$(PY) -m pytest -q -m idle $(TESTS)

# DeepSpeed compiles its part for CPUs when it first runs, which takes minutes.
test-frameworks: $(VENV)/.frameworks ## the agent's examples in PyTorch, DeepSpeed, Lightning, Hugging Face (large downloads)
	@$(PY) -m pytest -q -m slow $(TESTS)/agent/test_integrations.py
	@$(PY) -m pytest -q $(TESTS)/agent/test_ranks.py $(TESTS)/agent/test_ddp_hooks.py $(TESTS)/agent/test_compiled_loop.py

lint: $(VENV)/.lint ## ruff, mypy --strict, clang-format
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy
	@find csrc examples -type f -not -path '*/build/*' \( -name '*.h' -o -name '*.hpp' -o -name '*.c' -o -name '*.cpp' \) \
	  -exec $(BIN)/clang-format --dry-run -Werror {} +

# Python modules are their own stubs.
check-stubs: $(VENV)/.lint ## types against what runs: the stub of the extension and the whole package (stubtest)
	@$(PY) -m mypy.stubtest cassini_core --mypy-config-file pyproject.toml --allowlist tests/stubtest_allowlist.txt

bench: $(VENV)/.bench ## the link solver beside its peers: tables and plots in bench/results (some 8 minutes, idle machine)
	@$(PY) -m bench.link.report --out bench/results

bench-quick: $(VENV)/.bench ## the same with few instances, into build/bench-quick: to see that all works
	@$(PY) -m bench.link.report --quick --out build/bench-quick
	@$(PY) -m pytest -q bench/link --benchmark-enable -o python_files='bench_*.py'

bench-ranking: $(VENV)/.bench ## rankings at cluster scale, and of replayed rounds: bench/results (some 10 minutes, idle machine)
	@$(PY) -m bench.ranking.scale --out bench/results
	@$(PY) -m bench.ranking.replay_report --out bench/results

bench-prediction: $(VENV)/.bench ## does the ranking predict the slowdown of simulated rounds? bench/results (some 7 minutes)
	@$(PY) -m bench.ranking.prediction --out bench/results

bench-control: $(VENV)/.bench ## does the agent's control keep jobs interleaved, at what cost? bench/results (some 5 minutes)
	@$(PY) -m bench.control.study --out bench/results

# PAPER: further options, such as PAPER="--seeds 20 --processes 16" or PAPER="--only poisson".
paper: $(VENV)/.bench ## the paper's evaluation regenerated, every figure against ours: bench/results/paper.md (goes on where interrupted)
	@$(PY) -m bench.testbed --out bench/results $(PAPER)

bench-netlab: $(VENV)/.bench ## the same on a kernel's network, all scenarios: bench/results (root; 16 h; half an hour with LANES=32 on 32 cores)
	@$(PY) -m bench.netlab --out bench/results --lanes $(LANES)

bench-beside: $(VENV)/.bench ## the scenarios of bench-netlab in simulation, beside what bench/results/netlab.json has (some 5 minutes)
	@$(PY) -m bench.netlab.beside --out bench/results

# Two minutes. Skipped, with the reason, where no namespaces can be made; CASSINI_NEED_NETLAB=1 makes that a failure.
netlab-quick: $(VENV)/.installed ## jobs held on a kernel's network, the short form (root, iproute2)
	@$(PY) -m pytest -q -m idle $(TESTS)/netlab

count: $(VENV)/.tools ## instructions per call of the kernel's loops against the baseline (needs valgrind)
	@mkdir -p build
	@$(ON_PATH) cmake -S . -B build/bench -DCASSINI_BENCH=ON -DCMAKE_BUILD_TYPE=Release > build/bench.log \
	  || { cat build/bench.log; exit 1; }
	@$(ON_PATH) cmake --build build/bench --parallel $(JOBS) > build/bench.log || { cat build/bench.log; exit 1; }
	@$(PY) bench/kernel/count_instructions.py build/bench/bench/kernel/bench_kernel

check-answers: $(VENV)/.installed ## the answers to 403 recorded problems, byte by byte
	@$(PY) -m bench.answers.recorded

wheel: $(VENV)/.tools ## source distribution, manylinux wheel, and the wheel of the agent alone, in dist/
	@rm -rf dist build/wheel && mkdir -p build
	@$(ON_PATH) $(PY) -m build --no-isolation --outdir build/wheel . > build/wheel.log || { cat build/wheel.log; exit 1; }
	@$(ON_PATH) $(PY) -m auditwheel repair --wheel-dir dist build/wheel/*.whl >> build/wheel.log 2>&1 \
	  || { cat build/wheel.log; exit 1; }
	@$(PY) -m build --no-isolation --wheel --outdir dist agent >> build/wheel.log 2>&1 || { cat build/wheel.log; exit 1; }
	@cp build/wheel/*.tar.gz dist
	@ls -l dist

check-wheel: $(VENV)/.tools ## use the wheels outside the tree: import, rank, fast tests with every Python found; the agent alone
	@test -n "$$(ls dist/*.whl 2>/dev/null)" || $(MAKE) --no-print-directory wheel
	@$(PY) .ci/check_wheel.py dist tests/data/two-jobs.json tests
	@$(PY) .ci/check_agent_wheel.py dist

check-free-threaded: $(VENV)/.tools ## build for a Python without the global lock and share objects between threads there
	@$(PY) .ci/check_free_threaded.py . $(FREE_THREADED)

check-hosts: $(VENV)/.tools ## build and run examples/hosts against the wheel (needs Go, Rust, pkg-config, valgrind; or HOSTS=--skip-missing)
	@test -n "$$(ls dist/*.whl 2>/dev/null)" || $(MAKE) --no-print-directory wheel
	@$(ON_PATH) $(PY) examples/hosts/check.py $(HOSTS)

clean: ## remove what was built
	@rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .benchmarks
	@rm -rf examples/hosts/*/rank examples/hosts/cpp/build examples/hosts/rust/target
	@rm -f $(VENV)/.installed
	@find src agent tests bench examples -type d -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

distclean: clean ## remove what was built and the virtual environment
	@rm -rf $(VENV)

# --- set-up, each step once --------------------------------------------------------------------------------------

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed, '$(PYTHON)' is older: make PYTHON=python3.12 ..." >&2; exit 1; }
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@touch $@

# What builds the package; the build backend itself says whether cmake or ninja are missing.
$(VENV)/.tools: $(VENV)/.python pyproject.toml
	@echo "Setting up build tools in $(VENV) ..."
	@$(PIP) install --upgrade pip
	@$(PIP) install $$($(PY) -c 'import tomllib; d = tomllib.load(open("pyproject.toml", "rb")); \
	  print(*[p.replace(" ", "") for p in d["build-system"]["requires"] + d["project"]["optional-dependencies"]["build"]])')
	@missing=$$($(PY) -c 'from scikit_build_core import build; print(*build.get_requires_for_build_wheel())') \
	  && { test -z "$$missing" || $(PIP) install $$missing; }
	@touch $@

$(VENV)/.installed: $(VENV)/.tools $(SOURCES)
	@echo "Building and installing cassini-core into $(VENV) ..."
	@$(ON_PATH) $(PIP) install --no-build-isolation ".[test]"
	@touch $@

$(VENV)/.fuzz: $(VENV)/.installed
	@$(PIP) install $$($(PY) -c 'import tomllib; d = tomllib.load(open("pyproject.toml", "rb")); \
	  print(*d["project"]["optional-dependencies"]["fuzz"])')
	@touch $@

build/sanitized/.installed: $(VENV)/.installed
	@echo "Building cassini-core with sanitizers into build/sanitized ..."
	@rm -rf build/sanitized
	@$(ON_PATH) $(PIP) install --no-build-isolation --no-deps --target build/sanitized -Cbuild-dir=build/sanitized-wheel \
	  -Ccmake.build-type=RelWithDebInfo -Ccmake.define.CMAKE_CXX_FLAGS_RELWITHDEBINFO="$(SANITIZER_FLAGS)" \
	  -Cinstall.strip=false -Ccmake.define.CASSINI_SANITIZE=address,undefined .
	@touch $@

$(VENV)/.dask: $(VENV)/.installed
	@echo "Installing Dask, whose executor is tested, into $(VENV) ..."
	@$(PIP) install $$($(PY) -c 'import tomllib; d = tomllib.load(open("pyproject.toml", "rb")); \
	  print(*d["project"]["optional-dependencies"]["dask"])')
	@touch $@

# A torch that is there already is kept, whatever build it is.
$(VENV)/.frameworks: $(VENV)/.installed
	@echo "Installing PyTorch, DeepSpeed, Lightning and Transformers into $(VENV) ..."
	@$(PIP) install $(TORCH)
	@$(PIP) install $$($(PY) -c 'import tomllib; d = tomllib.load(open("pyproject.toml", "rb")); \
	  print(*d["project"]["optional-dependencies"]["frameworks"])')
	@touch $@

$(VENV)/.bench: $(VENV)/.installed
	@echo "Installing the peers of the benchmark into $(VENV) ..."
	@$(PIP) install $$($(PY) -c 'import tomllib; d = tomllib.load(open("pyproject.toml", "rb")); \
	  print(*d["project"]["optional-dependencies"]["bench"])')
	@touch $@

$(VENV)/.lint: $(VENV)/.installed
	@$(PIP) install $$($(PY) -c 'import tomllib; d = tomllib.load(open("pyproject.toml", "rb")); \
	  print(*d["project"]["optional-dependencies"]["lint"])')
	@touch $@
