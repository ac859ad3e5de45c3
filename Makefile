# make            the tool at build/weft, and the libraries
# make demo       installs what is missing, builds, and makes pictures
# make test       installs what is missing, builds, and runs every test
# make bench      Weft beside plain C and other systems
# make docs       reference documentation in build/docs: HTML, and man pages of section 3
# make install    into PREFIX (/usr/local), honouring DESTDIR
# make format     formats the C and C++ files in place
# make clean
# CMake underneath: CMakePresets.json has the other ways to build (dev, asan, tsan, fuzz, nollvm, ...).

PREFIX ?= /usr/local
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
ifneq ($(shell command -v ninja 2>/dev/null),)
export CMAKE_GENERATOR ?= Ninja
endif
configure = cmake --preset release --log-level=WARNING $(CMAKE_ARGS)
build = cmake --build build --parallel $(JOBS)
libraries_and_tool = --target weft weft_shared weft_static weft_cuda_emu weft_mpi

.PHONY: all deps demo test bench docs install format clean

all:
	@tools/install_deps --check
	@$(configure)
	$(build) $(libraries_and_tool)

# As `all`, but installs missing packages instead of naming them.
deps:
	@tools/install_deps

demo: deps
	@$(configure) -DWEFT_BENCH=ON
	$(build) $(libraries_and_tool) weft-bench-cli
	@WEFT="$(CURDIR)/build/weft" tools/demo.sh

test:
	@tools/install_deps --test
	$(configure) -DWEFT_TESTS=ON -DWEFT_EXAMPLES=ON -DWEFT_BENCH=ON
	$(build)
	ctest --test-dir build --output-on-failure --parallel $(JOBS)

bench:
	@tools/install_deps
	$(configure) -DWEFT_BENCH=ON
	$(build)
	build/bench/weft-bench

docs:
	@tools/install_deps --docs
	@tools/make_docs build/docs
	@echo "build/docs/html/index.html; man -M build/docs/man wf_run"

install: all
	cmake --install build --prefix $(PREFIX)

format:
	tools/format

clean:
	rm -rf build build-*
