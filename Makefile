# The short commands. Each does its own set-up first; the work is CMake's, in build/.

# Options for CMake: make build CMAKE_FLAGS="-DUPCONV_OPENMP=OFF"
CMAKE_FLAGS =
PREFIX = /usr/local
JOBS := $(shell nproc 2>/dev/null || echo 2)

# To CMake's own makefiles this one does not exist: no flags or variables of it reach them.
unexport MAKEFLAGS
CMAKE = env -u MAKELEVEL cmake
CONFIGURE = $(CMAKE) -S . -B build -DUPCONV_WERROR=ON $(CMAKE_FLAGS)

# Tests run side by side, so threads that wait should sleep and not spin: it halves the time.
CTEST = env -u MAKELEVEL OMP_WAIT_POLICY=passive \
    ctest --output-on-failure --no-tests=error -j $(JOBS)

.PHONY: help run test build lint asan tsan install deb clean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1	/p' Makefile | expand -t 18

run: build ## build, then run the five operators: time, speed, error, PASS or FAIL
	build/upconv demo

build: ## the libraries and the command: build/libupconv.so, build/libupconv.a, build/upconv
	@scripts/setup.sh run
	@$(CONFIGURE)
	@$(CMAKE) --build build -j $(JOBS) --target product

test: ## every test; lint, sanitizers and packaging are among them
	@scripts/setup.sh test
	@$(CONFIGURE)
	@$(CMAKE) --build build -j $(JOBS)
	cd build && $(CTEST)

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

install: build ## into PREFIX, /usr/local unless given; DESTDIR goes before it
	$(CMAKE) --install build --prefix "$(PREFIX)"

deb: ## a Debian package, in build/deb
	@scripts/setup.sh test
	env -u MAKELEVEL scripts/deb.sh build/deb

clean: ## forget everything that was built
	rm -rf build
