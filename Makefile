# SPDX-License-Identifier: GPL-2.0
#
# Entry points of the project; "make help" lists them. Everything made lands
# in build/. How the module is built: Documentation/building.rst.

# The kernel to build for: 6.1, 6.12 (the newest of Debian's), 6.12-san (the
# kernel that checks itself) or a release.
KVER ?= $(shell uname -r)

# kbuild takes no space or colon in the path of a module, QEMU no comma in a plugin's.
comma := ,
ifneq ($(words x$(subst :, ,$(subst $(comma), ,$(CURDIR)))x),1)
$(error '$(CURDIR)' has a space, colon or comma in it: move the clone)
endif

root := $(CURDIR)
build := $(root)/build
format-sources = $(shell find drivers kunit qemu -name '*.cpp' -o -name '*.h')

.PHONY: all modules install uninstall kunit coverage test-modules model guest-programs ddp docs \
	check demo format format-check clean help

all: model ddp guest-programs modules ## everything that the default kernel needs (default)

modules: ## build/<release>/irdma.ko, for the kernel KVER=6.1|6.12|6.12-san|<release>
	+@scripts/kbuild/build-modules $(KVER)

install: modules ## /lib/modules/<release>/updates/irdma.ko, which goes before the kernel's own
	+@scripts/kbuild/install-module $(KVER)

uninstall: ## remove it again
	+@scripts/kbuild/install-module --remove $(KVER)

model: ## build/e810.so, the device model for QEMU
	+@$(MAKE) -C qemu

kunit: ## build/<release>/kunit/irdma-kunit.ko, tests of the driver on a fake device
	+@scripts/kbuild/build-modules --kunit $(KVER)

coverage: ## build/<release>/coverage/irdma-kunit.ko, which counts what they run of it
	+@scripts/kbuild/build-modules --coverage $(KVER)

test-modules: ## build/<release>/tests/verbs_test.ko, tests of verbs in the kernel
	+@scripts/kbuild/build-test-module $(KVER)

guest-programs: ## build/guest/*, test programs that run in guests
	+@$(MAKE) -C tests/guest OUT=$(build)/guest

ddp: ## build/ice.pkg, the package that ice loads into the device
	@mkdir -p $(build)
	@scripts/mkddp $(build)/ice.pkg

docs: ## build/docs, the documentation and the reference of the sources
	+@scripts/docs

check: ## run all tests
	+@scripts/check

demo: ## bring queue pairs up in a guest, and show it
	+@scripts/demo

format: ## lay all C++ out as .clang-format says
	@clang-format -i $(format-sources)

format-check: ## refuse C++ that .clang-format would lay out differently
	@clang-format --dry-run -Werror $(format-sources)

clean: ## remove build/
	rm -rf '$(build)'

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 18
	@echo "KVER=$(KVER)"
