# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# One entry for everything; `make help` lists the targets. The work is done by
# the scripts in selftests/lab, which say at their heads what they do.

LAB := selftests/lab

K ?=
T ?=
M ?=
F ?=
export K T M F S J KVER KDIR DESTDIR RDMA_CORE

.PHONY: all install uninstall demo lab figures sim sim-figures bench insns conform devfuzz middle life packages check check-all check-unit check-fuzz \
	check-build check-lint check-vm check-debug check-races check-interop \
	check-series series clean distclean help

all:
	@$(LAB)/install.sh build

install:
	@$(LAB)/install.sh install

uninstall:
	@$(LAB)/install.sh uninstall

demo:
	@$(LAB)/demo.sh

# FABRIC is a file for mrclab.
lab:
	@$(LAB)/lab.sh $(FABRIC)

# F chooses some of them: F=9a,11
figures:
	@$(LAB)/drills.sh

# A simulation and its pictures, in two minutes.
sim:
	@$(LAB)/sim.sh demo

# F chooses some of them: F=4,16; S=reduced takes minutes instead of hours.
sim-figures:
	@$(LAB)/sim.sh figures

# P is a plan of selftests/bench.
bench:
	@$(LAB)/bench.sh $(P)

# Counts instructions per message; the result does not depend on the machine.
insns:
	@$(LAB)/insns.sh

# Shows that mrcconform notices planted deviations; T chooses some of them.
conform:
	@$(LAB)/conform_mutants.sh '$(T)'

# Random programs and packets, R rounds from seed S, in the kernel with KASAN.
devfuzz:
	@$(LAB)/devfuzz.sh

# Packets that a man in the middle changes, N in each case.
middle:
	@$(LAB)/middle.sh

# Connections, links, ports, namespaces and the module come and go N times; does memory stay?
life:
	@$(LAB)/life.sh

# Debian packages of this machine's release.
packages:
	@$(LAB)/packages.sh

check:
	@$(LAB)/check.sh unit fuzz-short build lint vm

# Its first part is `make check` itself; the rest runs whatever became of that.
check-all:
	@rc=0; $(MAKE) --no-print-directory check || rc=1; \
	$(LAB)/check.sh prop map mpi fuzz tidy wireshark web parts insns conform packages containers || rc=1; \
	$(LAB)/check.sh series || rc=1; \
	$(LAB)/check.sh vm-rest || rc=1; \
	$(MAKE) --no-print-directory check-debug || rc=1; exit $$rc

check-unit:
	@$(LAB)/check.sh unit

check-fuzz:
	@$(LAB)/check.sh fuzz

check-build:
	@$(LAB)/check.sh build

check-lint:
	@$(LAB)/check.sh lint tidy

check-vm:
	@$(LAB)/check.sh vm

check-debug:
	@K=$${K:-7.2} M=uml-debug $(LAB)/check.sh vm

check-races:
	@K=$${K:-7.2} M=kcsan $(LAB)/check.sh vm

check-interop:
	@$(LAB)/check.sh interop

series:
	@$(LAB)/series.sh write

check-series:
	@$(LAB)/check.sh series

# Everything but the guest images and fetched sources, which take minutes.
clean:
	@$(LAB)/clean.sh

distclean:
	@$(LAB)/clean.sh all

help:
	@echo 'On this machine, for the kernel it runs:'
	@echo '  make               build the module, the rdma-core provider (libMRC), tools'
	@echo '  make install       install them and the manual pages (root)'
	@echo '  make uninstall     remove all of it (root)'
	@echo '  make packages      Debian packages in a clean root (root): build/packages/'
	@echo '  make sim           a demonstration of mrcsim, in two minutes: build/sim/'
	@echo '  make sim-figures F=4,16   the published figures, simulated; hours: build/sim-figures/'
	@echo '                     S=reduced: minutes'
	@echo 'In an emulated machine; Debian 12 or 13, root; the rest is set up:'
	@echo '  make demo          two hosts, four planes, ib_write_bw, a plane cut'
	@echo '  make lab FABRIC=FILE   a shell beside a fabric of hosts and switches: mrclab(8)'
	@echo '  make figures F=9a,11   drills: the published figures, with faults: build/figures/'
	@echo '  make insns         the kernel'\''s instructions per message: build/insns/'
	@echo '  make conform T=PATTERN   the driver with planted deviations, which mrcconform must find'
	@echo '  make devfuzz R=20  random programs and packets in a kernel with KASAN, from seed S'
	@echo '  make life N=10000 MINUTES=60   connections, links, namespaces come and go: 7 hours'
	@echo '  make middle N=1000000  packets that a man in the middle changes, in ten cases'
	@echo '  make bench P=goals mrc beside rxe and TCP, at native speed: build/bench/'
	@echo '  make check         what a change must pass: 45 to 80 minutes, two cores'
	@echo '  make check-unit    engine: unit and property tests (native)'
	@echo '  make check-fuzz    engine: libFuzzer targets, 60 s each (native)'
	@echo '  make check-build   module for Linux 6.1, 6.12, 7.2; sparse; provider, ABI'
	@echo '  make check-lint    checkpatch, kernel-doc, clang-tidy, shellcheck, docs'
	@echo '  make check-vm K=6.12 T=PATTERN   test scripts in a guest'
	@echo '  make check-interop K=6.12 T=PATTERN   foreign suites in a guest, all cases'
	@echo '  make check-vm K=7.2 M=uml T=PATTERN   the same in a kernel that runs as a'
	@echo '                     program (User Mode Linux), at native speed; check-interop'
	@echo '                     takes M too; the first time builds the kernel, in minutes'
	@echo '  make check-debug K=7.2 T=PATTERN   the test scripts in such a kernel with'
	@echo '                     KASAN, lockdep, kmemleak, UBSAN and fault injection'
	@echo '  make check-races K=7.2 T=PATTERN   scripts that keep two processors busy, in'
	@echo '                     a kernel with KCSAN, emulated; hours, and not in check-all'
	@echo '  make series        the driver as patches for the kernel tree: build/series/'
	@echo '  make check-series  applies them to the newest kernel, one by one; each compiles,'
	@echo '                     without complaints of sparse, checkpatch, kernel-doc; then'
	@echo '                     scripts run with the module of the last one'
	@echo '  make check-all     make check, then clang-tidy, the series, benchmarks, the other'
	@echo '                     kernels, the foreign suites on each kernel, and check-debug'
	@echo '  make clean         remove what was built, keep the guest images'
	@echo '  make distclean     remove these as well'
