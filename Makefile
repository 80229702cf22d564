# The short commands. Each does its own set-up first; the work is CMake's, in build/.

# Options for CMake: make build CMAKE_FLAGS="-DUPCONV_OPENMP=OFF"
CMAKE_FLAGS =
PREFIX = /usr/local
# Options for the benchmark and the sweep: make bench BENCH="--threads 1"
BENCH =
SWEEP =
JOBS := $(shell nproc 2>/dev/null || echo 2)

# To CMake's own makefiles this one does not exist: no flags or variables of it reach them.
unexport MAKEFLAGS
CMAKE = env -u MAKELEVEL cmake
CONFIGURE = $(CMAKE) -S . -B build -DUPCONV_WERROR=ON $(CMAKE_FLAGS)

# Tests run side by side, so threads that wait should sleep and not spin: it halves the time.
CTEST = env -u MAKELEVEL OMP_WAIT_POLICY=passive \
    ctest --output-on-failure --no-tests=error -j $(JOBS)

.PHONY: help run test test-long build lint asan tsan bench sweep algorithms numerics peers install deb clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1	/p' Makefile | expand -t 18

run: build ## build, then run the five operators: time, speed, error, PASS or FAIL
	build/upconv bench --check

build: ## the libraries and the command: build/libupconv.so, build/libupconv.a, build/upconv
	@scripts/setup.sh run
	@$(CONFIGURE)
	@$(CMAKE) --build build -j $(JOBS) --target product

test: ## every test; lint, sanitizers and packaging are among them
	@scripts/setup.sh test
	@$(CONFIGURE)
	@$(CMAKE) --build build -j $(JOBS)
	cd build && $(CTEST)

test-long: ## arm64 by emulation, a large random campaign, speed against the peak: minutes more
	@scripts/setup.sh long
	@$(CONFIGURE)
	@$(CMAKE) --build build -j $(JOBS)
	cd build && $(CTEST) -C Long -L long

lint: ## clang-format and cppcheck
	@scripts/setup.sh lint
	@scripts/lint.sh

asan: ## the whole suite under AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/setup.sh test
	CTEST_PARALLEL_LEVEL=$(JOBS) env -u MAKELEVEL scripts/sanitize.sh address build/asan

tsan: ## the thread tests under ThreadSanitizer, without and with OpenMP
	@scripts/setup.sh test
	env -u MAKELEVEL scripts/sanitize.sh thread build/tsan threads
	env -u MAKELEVEL scripts/sanitize.sh thread-openmp build/tsan-openmp threads

bench: ## this machine, the five operators and the peers, with the bars: BENCH="--repetitions 5"
	@scripts/setup.sh bench
	@$(CONFIGURE)
	@$(CMAKE) --build build -j $(JOBS) --target benchmarks
	bench/run.sh build --json build/bench.json $(BENCH)

sweep: ## many shapes against this machine's peak, and the latency of small calls
	@scripts/setup.sh bench
	@$(CONFIGURE)
	@$(CMAKE) --build build -j $(JOBS) --target benchmarks
	build/bench/sweep $(SWEEP) bench/sweep.txt

algorithms: ## the same shapes direct, by Winograd and automatic: which is quicker
	@scripts/setup.sh bench
	@$(CONFIGURE)
	@$(CMAKE) --build build -j $(JOBS) --target benchmarks
	build/bench/algorithms bench/sweep.txt

numerics: ## rounding errors by operator and kind of data: the tables of docs/numerics.md
	@scripts/setup.sh run
	@$(CONFIGURE)
	@$(CMAKE) --build build -j $(JOBS) --target upconv_numerics upconv_shared
	build/bench/numerics
	@python=build/peers/venv/bin/python3; if "$$python" -c 'import importlib.util as u; \
	    exit(not u.find_spec("torch"))' 2>/dev/null; then \
	    LD_LIBRARY_PATH=build/peers/no-cuda "$$python" bench/torch_errors.py build/libupconv.so; \
	else echo "PyTorch's errors beside ours: make peers, then this again"; fi

peers: ## what bench compares with: oneDNN, PyTorch, ONNX Runtime, OpenVINO; 4 GB in build/peers
	@scripts/setup.sh peers
	@bench/peers.sh build/peers
	@$(CONFIGURE)
	@$(CMAKE) --build build -j $(JOBS) --target benchmarks

install: build ## into PREFIX, /usr/local unless given; DESTDIR goes before it
	$(CMAKE) --install build --prefix "$(PREFIX)"

deb: ## a Debian package, in build/deb
	@scripts/setup.sh test
	env -u MAKELEVEL scripts/deb.sh build/deb

clean: ## forget everything that was built
	rm -rf build
