#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Changes in a source of Linux for the lab's User Mode Linux. Each is made once.
#
# usage: uml_source.sh SOURCE
set -euo pipefail
. "$(dirname "$0")/common.sh"

[ $# = 1 ] || lab_die "usage: uml_source.sh SOURCE"
src=$1
new=$(mktemp)
trap 'rm -f "$new"' EXIT

# usage: changed FILE PATTERN: $new, which contains PATTERN now, replaces FILE
changed() {
	grep -q -- "$2" "$new" || lab_die "${1#"$src"/} is not as expected"
	cat "$new" >"$1"
}

# The clock rate is fixed at 100, at which a program that polls keeps the processor for
# 10 ms.
file=$src/arch/um/Kconfig
if ! grep -q '^	int "HZ"$' "$file"; then
	awk '$1 == "config" { hz = $2 == "HZ" }
		hz && $1 == "int" { print "\tint \"HZ\""; next } { print }' \
		"$file" >"$new"
	changed "$file" '^	int "HZ"$'
fi

# The debugging options save a stack trace of each allocation. On this architecture the
# stack walk checks for each word on the stack whether it points into kernel text. With
# lock debugging this check costs more than everything else. Most words cannot point into
# text; the patch skips them.
file=$src/arch/um/kernel/stacktrace.c
if ! grep -q '_sinittext' "$file"; then
	awk '/^#include <asm\/stacktrace.h>$/ {
			print
			print "#include <asm/sections.h>"
			print "#include <linux/pgtable.h>"
			next
		}
		$0 == "\t\tif (__kernel_text_address(addr)) {" {
			print "\t\tif (addr >= (unsigned long)_sinittext &&"
			print "\t\t    (addr <= (unsigned long)_etext ||"
			print "\t\t     (addr >= MODULES_VADDR && addr < MODULES_END)) &&"
			print "\t\t    __kernel_text_address(addr)) {"
			next
		}
		{ print }' "$file" >"$new"
	changed "$file" '_sinittext'
fi

# Kernels of distributions compute CRC-32 by carry-less multiplication, ten times as fast
# as by tables. Here the library is built without it, although the kernel is a process
# that may use these instructions: the host keeps the registers over signals, and the
# kernel switches threads by function calls. So the code for x86 is used, without its
# variants for longer registers, which ask the processor in a way that does not exist
# here. The kernel parameter "crc32_tables" switches it off, for figures that compare with
# older ones.
file=$src/lib/crc/Kconfig
if [ -f "$file" ] && grep -q '^	depends on !UML$' "$file"; then
	file=$src/lib/crc/Makefile
	awk '$1 == "CFLAGS_crc32-main.o" {
			sub(/\$\(SRCARCH\)/, "$(if $(CONFIG_UML),x86,$(SRCARCH))")
		}
		$1 == "crc32-$(CONFIG_X86)" { sub(/\$\(CONFIG_X86\)/, "$(or $(CONFIG_X86),$(CONFIG_X86_64))") }
		{ print }' "$file" >"$new"
	changed "$file" 'CONFIG_UML'
	file=$src/lib/crc/x86/crc-pclmul-template.h
	awk '{ print }
		$0 == "#include \"crc-pclmul-consts.h\"" {
			print ""
			print "#ifdef CONFIG_UML"
			print "#include <asm/cpufeature.h>"
			print "#define cpu_has_xfeatures(mask, name)\tfalse"
			print "#endif"
		}' "$file" >"$new"
	changed "$file" 'CONFIG_UML'
	file=$src/lib/crc/x86/crc32.h
	awk '$0 == "#define crc32_mod_init_arch crc32_mod_init_arch" {
			print "#ifdef CONFIG_UML"
			print "static bool crc32_tables __initdata;"
			print "static int __init crc32_set_tables(char *arg)"
			print "{"
			print "\tcrc32_tables = true;"
			print "\treturn 0;"
			print "}"
			print "early_param(\"crc32_tables\", crc32_set_tables);"
			print "#else"
			print "#define crc32_tables\tfalse"
			print "#endif"
			print ""
		}
		$0 == "static void crc32_mod_init_arch(void)" { $0 = "static void __init crc32_mod_init_arch(void)" }
		$0 == "\tif (boot_cpu_has(X86_FEATURE_PCLMULQDQ)) {" {
			$0 = "\tif (boot_cpu_has(X86_FEATURE_PCLMULQDQ) && !crc32_tables) {"
		}
		{ print }' "$file" >"$new"
	changed "$file" ' && !crc32_tables'
	# The last change, because it shows that all are made.
	file=$src/lib/crc/Kconfig
	awk '$1 == "config" { option = $2 }
		option == "CRC_OPTIMIZATIONS" && $0 == "\tdepends on !UML" { next }
		option == "CRC32_ARCH" && $0 == "\tdefault y if X86" { print; $0 = $0 "_64" }
		option == "CRC64_ARCH" && $0 == "\tdefault y if X86_64" { $0 = $0 " && !UML" }
		{ print }' "$file" >"$new"
	changed "$file" '^	default y if X86_64 && !UML$'
fi
