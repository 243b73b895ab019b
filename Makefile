# SPDX-License-Identifier: GPL-2.0
#
# Entry points of the project; "make help" lists them. Everything made lands
# in build/. How the module is built: Documentation/building.rst.

# The kernel to build for: 6.1, 6.12 (the newest of Debian's) or a release.
KVER ?= $(shell uname -r)

root := $(CURDIR)
build := $(root)/build
guest-sources := $(wildcard tests/guest/*.c)
guest-programs := $(guest-sources:tests/guest/%.c=$(build)/guest/%)
format-sources = $(shell find drivers qemu kunit -name '*.cpp' -o -name '*.h' -path '*drivers*')

.PHONY: all modules model guest-programs ddp check demo format-check clean help

all: model modules ## everything that the default kernel needs (default)

modules: ## build/<release>/irdma.ko, for the kernel KVER=6.1|6.12|<release>
	+@scripts/kbuild/build-modules $(KVER)

model: ## build/e810.so, the device model for QEMU
	+@$(MAKE) -C qemu

guest-programs: $(guest-programs) ## build/guest/*, test programs that run in guests

$(build)/guest/%: tests/guest/%.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 -g -Wall -Wextra -Werror -o $@ $< -libverbs -lpthread

ddp: ## build/ice.pkg, the package that ice loads into the device
	@mkdir -p $(build)
	@scripts/mkddp $(build)/ice.pkg

check: ## run all tests
	+@scripts/check

demo: ## bring queue pairs up in a guest, and show it
	+@scripts/demo

format-check: ## refuse C++ that .clang-format would lay out differently
	@clang-format --dry-run -Werror $(format-sources)

clean: ## remove build/
	rm -rf $(build)

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 18
	@echo "KVER=$(KVER)"
