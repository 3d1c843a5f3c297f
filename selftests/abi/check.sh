#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The ABI of the MRC library against what programs have built in: sizes, offsets,
# types and values of the headers, their functions, what the version macros
# do, the declarations and examples in the manual pages, the examples of the guides,
# and the names that the library exports; and the sizes of the kernel's control
# interface. Compiles, runs nothing.
#
# usage: check.sh [-i DIR] [RESULT]
#   DIR      has infiniband/verbs.h, where the compiler does not find it itself
#   RESULT   where selftests/lab/provider.sh has put what it built; without it
#            only the headers are looked at
# CC and CXX are the compilers (cc, c++). Prints what is wrong and fails.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
headers=$(cd "$here/../../providers/mrc" && pwd)
: "${CC:=cc}" "${CXX:=c++}"

include=()
while getopts i: opt; do
	case $opt in
	i) include=(-isystem "$OPTARG") ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
result=${1:-}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0

good() { passed=$((passed + 1)); }
bad() { # NAME [FILE with the reasons]
	failed=$((failed + 1))
	echo "not ok: $1"
	[ -z "${2:-}" ] || sed 's/^/    /' "$2" | head -n 20
}

warn=(-Wall -Wextra -pedantic -Werror -fsyntax-only)
c() { "$CC" "${warn[@]}" -I"$headers" "${include[@]}" "$@"; }
cxx() { "$CXX" "${warn[@]}" -I"$headers" "${include[@]}" "$@"; }

compiles() { # NAME COMMAND...
	local name=$1
	shift
	if "$@" >"$tmp/out" 2>&1; then good; else bad "$name" "$tmp/out"; fi
}
says() { # NAME TEXT COMMAND...: fails, and for that reason
	local name=$1 text=$2
	shift 2
	if "$@" >"$tmp/out" 2>&1; then
		bad "$name: compiles"
	elif grep -q -- "$text" "$tmp/out"; then
		good
	else
		bad "$name: fails for another reason" "$tmp/out"
	fi
}

# --- layouts and declarations ------------------------------------------------
for std in c11 c17 gnu17; do
	compiles "layout, $std" c -std=$std "$here/layout.c"
	compiles "functions, $std" c -std=$std "$here/functions.c"
done
for std in c++11 c++17 c++20 gnu++20; do
	compiles "layout, $std" cxx -std=$std -x c++ "$here/layout.c"
	compiles "functions, $std" cxx -std=$std -x c++ "$here/functions.c"
done
compiles "layout before 1.0.1" c -std=c11 -DCTL_BEFORE_1_0_1 \
	'-DMRC_CTL_API_VER_USED=MRC_CTL_API_VER(1,0,0)' "$here/layout.c"

# Each header by itself, twice, and all in the order that nobody expects.
for h in mrc mrc_ctl mrc_api_ver mrc_ctl_api_ver; do
	guard=$(tr '[:lower:]' '[:upper:]' <<<"$h")
	case $h in
	mrc | mrc_ctl) guard=_${guard}_API_H_ ;;
	*) guard=_${guard}_H_ ;;
	esac
	cat >"$tmp/alone.c" <<-END
		#include <$h.h>
		#include <$h.h>
		#ifndef $guard
		#error "guard"
		#endif
		int unused;
	END
	compiles "$h.h alone" c -std=c11 "$tmp/alone.c"
	compiles "$h.h alone, C++" cxx -std=c++20 -x c++ "$tmp/alone.c"
done
printf '#include <%s.h>\n' mrc_ctl_api_ver mrc_ctl mrc_api_ver mrc >"$tmp/order.c"
echo 'int unused;' >>"$tmp/order.c"
compiles "all headers" c -std=c11 "$tmp/order.c"

# --- the kernel's control interface --------------------------------------------
uapi() { # OPTION...
	"$CC" "${warn[@]}" -std=c11 -Wpadded -I"$here/../../include/uapi" \
		-isystem "/usr/include/$("$CC" -print-multiarch)" "$@" "$here/uapi.c"
}
compiles "structures of the control interface" uapi
# The same sizes for programs of 32 bits, where the compiler can make them.
if echo 'int unused;' | "$CC" -m32 -fsyntax-only -x c - 2>/dev/null; then
	compiles "structures of the control interface, 32 bits" uapi -m32
else
	echo "skipped: this compiler has no -m32"
fi

# --- versions ----------------------------------------------------------------
cat >"$tmp/encoding.c" <<'END'
#include <assert.h>
#include <mrc_ctl.h>
#define CHECK(x, v) static_assert((uint32_t)(x) == (v), #x)
CHECK(MRC_API_VER_MAJOR_OFFSET, 24u);
CHECK(MRC_API_VER_MINOR_OFFSET, 16u);
CHECK(MRC_API_VER_SUBMINOR_OFFSET, 0u);
CHECK(MRC_API_VER(0, 0, 0), 0u);
CHECK(MRC_API_VER(1, 0, 0), 0x01000000u);
CHECK(MRC_API_VER(1, 2, 3), 0x01020003u);
CHECK(MRC_API_VER(1 | 2, 0 | 4, 0 | 0xabc), 0x03040abcu);
CHECK(MRC_API_VER_LATEST, 0xffffffffu);
static_assert(MRC_API_VER_LATEST == -1, "LATEST is an int");
CHECK(MRC_API_CURRENT_VERSION, 0x01000001u);
CHECK(MRC_API_LAST_SUPPORTED_VERSION, 0u);
CHECK(MRC_VENDOR_API_CURRENT_VERSION, 0x01000000u);
CHECK(MRC_VENDOR_API_LAST_SUPPORTED_VERSION, 0u);
CHECK(MRC_CTL_API_VER_MAJOR_OFFSET, 24u);
CHECK(MRC_CTL_API_VER_MINOR_OFFSET, 16u);
CHECK(MRC_CTL_API_VER_SUBMINOR_OFFSET, 0u);
CHECK(MRC_CTL_API_VER(1, 2, 3), 0x01020003u);
CHECK(MRC_CTL_API_VER_LATEST, 0xffffffffu);
CHECK(MRC_CTL_API_CURRENT_VERSION, 0x01000001u);
CHECK(MRC_CTL_API_LAST_SUPPORTED_VERSION, 0u);
CHECK(MRC_CTL_VENDOR_API_CURRENT_VERSION, 0x01000000u);
CHECK(MRC_CTL_VENDOR_API_LAST_SUPPORTED_VERSION, 0u);
#ifdef PLAIN
CHECK(MRC_API_VER_USED, 0x01000001u);
CHECK(MRC_VENDOR_API_VER_USED, 0x01000000u);
CHECK(MRC_CTL_API_VER_USED, 0x01000001u);
CHECK(MRC_CTL_VENDOR_API_VER_USED, 0x01000000u);
#endif
END
# LATEST does not fit an int: C calls that an extension.
compiles "encoding" c -std=c11 -Wno-pedantic -DPLAIN "$tmp/encoding.c"
compiles "encoding, C++" cxx -std=c++20 -x c++ "$tmp/encoding.c"

# A name of one's own shows that the header does not declare it.
cat >"$tmp/hidden.c" <<'END'
#include <mrc_ctl.h>
#ifdef APP
struct mine { int x; } mrc_query_device_ex;
#endif
#ifdef CTL
struct mine { int x; } mrc_ctl_query_device_ex;
#endif
int unused;
END
for f in 'APP MRC_API query_device_ex' 'CTL MRC_CTL_API query_device_ex'; do
	read -r which family name <<<"$f"
	for v in "${family}_VER(1,0,0)" "${family}_VER(0,9,0)"; do
		compiles "$family $v hides _ex" c -std=c11 "-D$which" \
			"-D${family}_VER_USED=$v" "$tmp/hidden.c"
	done
	for v in "${family}_VER(1,0,1)" "${family}_VER_LATEST" 0x01000001; do
		says "$family $v shows _ex" "$name" c -std=c11 "-D$which" \
			"-D${family}_VER_USED=$v" "$tmp/hidden.c"
	done
	says "$family without selector shows _ex" "$name" c -std=c11 "-D$which" \
		"$tmp/hidden.c"
done

printf '#include <mrc_ctl.h>\nint unused;\n' >"$tmp/plain.c"
for f in MRC_API:MRC_API MRC_VENDOR_API:MRC_API MRC_CTL_API:MRC_CTL_API \
	MRC_CTL_VENDOR_API:MRC_CTL_API; do
	family=${f%:*} encoder=${f#*:}_VER
	used=${family}_VER_USED
	current='0x01000001'
	[[ $family != *VENDOR* ]] || current='0x01000000'
	cat >"$tmp/used.c" <<-END
		#include <assert.h>
		#include <mrc_ctl.h>
		static_assert((uint32_t)$used == EXPECTED, "selector");
	END
	compiles "$used from LATEST" c -std=c11 -DEXPECTED=$current \
		"-D$used=${encoder}_LATEST" "$tmp/used.c"
	compiles "$used kept" c -std=c11 -DEXPECTED=0x01000000 \
		"-D$used=$encoder(1,0,0)" "$tmp/used.c"
	compiles "$used between" c -std=c11 -DEXPECTED=1 \
		"-D$used=$encoder(0,0,1)" "$tmp/used.c"
	for v in '(1,0,2)' '(1,1,0)' '(2,0,0)'; do
		says "$used $v" "$used is newer" c -std=c11 \
			"-D$used=$encoder$v" "$tmp/plain.c"
	done
	says "$used negative" "$used is older" c -std=c11 "-D$used=(-2)" "$tmp/plain.c"
	says "$used (0,0,0) warns" "$used is the oldest" c -std=c11 \
		"-D$used=$encoder(0,0,0)" "$tmp/plain.c"
	compiles "$used (0,0,0) only warns" c -std=c11 -w \
		"-D$used=$encoder(0,0,0)" "$tmp/plain.c"
done

# --- names of old ------------------------------------------------------------
# Programs that use them, and programs that have these names for something else:
# members and variables, as the API itself has (mrc_attr is the name of a
# parameter). Either header may come first.
both_orders() { # FILE: it is made from standard input, with the headers in front
	cat >"$tmp/body"
	{ printf '#include <%s.h>\n' mrc mrc_ctl; cat "$tmp/body"; } >"$tmp/$1.1.c"
	{ printf '#include <%s.h>\n' mrc_ctl mrc; cat "$tmp/body"; } >"$tmp/$1.2.c"
}
both_orders old <<'END'
#include <string.h>
#if defined(__cplusplus) && defined(mrc_attr)
#define ZERO {}
#else
#define ZERO {0}
#endif
typedef char same_size[sizeof(struct mrc_attr) == 20 ? 1 : -1];
struct table { int (*query)(struct ibv_context *, struct mrc_attr *, int *); };
int old(struct ibv_context *context, const struct table *table);
int old(struct ibv_context *context, const struct table *table)
{
	struct mrc_attr attr, zero = ZERO, *pointer = &attr;
	struct mrc_device_attr *known = pointer;
	struct mrc_qp_attr qp_attr;
	int supported = 0;
	memset(&attr, 0, sizeof(attr));
	memset(&qp_attr, 0, sizeof(qp_attr));
	if (mrc_query_device(context, &attr, &supported) ||
	    mrc_query_device(context, known, &supported) ||
	    table->query(context, pointer, &supported) || !supported)
		return 0;
	if (pointer->mrc_version != zero.mrc_protocol_version ||
	    attr.mpr_attr.max_mpr > 8)
		return -1;
	return mrc_modify_qp(NULL, NULL, 0, &qp_attr,
			     MRC_EV_PROFILE_ID | MRC_CC_PROFILE_ID);
}
END
# Where the old names are macros, two spellings meet as one type.
both_orders mixed <<'END'
int (*query)(struct ibv_context *, struct mrc_attr *, int *) = mrc_query_device;
int mixed(struct ibv_context *context);
int mixed(struct ibv_context *context)
{
	struct mrc_device_attr attr;
	int supported = 0;
	return query(context, &attr, &supported);
}
END
both_orders own <<'END'
struct mine { struct mrc_qp_attr mrc_attr; int mrc_version; };
int own(struct mine *mine, struct mrc_qp *qp);
int own(struct mine *mine, struct mrc_qp *qp)
{
	struct mrc_qp_attr mrc_attr = mine->mrc_attr;
	int mrc_version = mine->mrc_version;
	struct mrc_device_attr attr;
	attr.mrc_protocol_version = 0;
	return mrc_query_qp(qp, NULL, 0, &mrc_attr, MRC_QP_TIMEOUT, NULL) +
	       mrc_version + (int)attr.mrc_protocol_version;
}
END
both_orders own++ <<'END'
struct mine { mrc_device_attr mrc_attr; int mrc_version; };
int own(mine &m, mrc_qp_attr *mrc_attr)
{
	mrc_device_attr attr = m.mrc_attr;
	mrc_qp_attr copy = *mrc_attr;
	return copy.timeout + int(attr.mrc_protocol_version) + m.mrc_version;
}
END
both_orders opted_out <<'END'
struct mrc_attr { int mrc_version; };
enum { MRC_EV_PROFILE_ID, MRC_CC_PROFILE_ID };
int opted_out = sizeof(struct mrc_attr) + MRC_EV_PROFILE_ID + MRC_CC_PROFILE_ID;
END
# A program's own header may stand in front of ours.
{ sed -n '/^struct mine/p' "$tmp/own++.1.c" | sed 's/mrc_device_attr/int/'
	sed '/^struct mine/d' "$tmp/own++.1.c" |
		sed 's/mrc_device_attr attr = m.mrc_attr/mrc_device_attr attr = {}; attr.cap = unsigned(m.mrc_attr)/'
} >"$tmp/own++.3.c"
strict=(-Wshadow -Wmissing-braces -Wno-missing-field-initializers)
for order in 1 2; do
	for std in gnu99 c11 gnu17; do
		[ $std = gnu99 ] && gnu=(-Wno-pedantic) || gnu=()
		compiles "old names, $std, order $order" c -std=$std "${gnu[@]}" \
			"${strict[@]}" "$tmp/old.$order.c"
		compiles "old and new names, $std, order $order" c -std=$std \
			"${gnu[@]}" "${strict[@]}" "$tmp/mixed.$order.c"
		compiles "names of one's own, $std, order $order" c -std=$std \
			"${gnu[@]}" "${strict[@]}" "$tmp/own.$order.c"
	done
	for std in c++11 c++14 c++17 c++20 gnu++20; do
		compiles "old names, $std, order $order" cxx -std=$std "${strict[@]}" \
			-x c++ "$tmp/old.$order.c"
		compiles "names of one's own, $std, order $order" cxx -std=$std \
			"${strict[@]}" -x c++ "$tmp/own++.$order.c"
	done
	compiles "opted out, order $order" c -std=c11 -DMRC_API_NO_OLD_NAMES \
		"$tmp/opted_out.$order.c"
	compiles "opted out, C++, order $order" cxx -std=c++20 -DMRC_API_NO_OLD_NAMES \
		-x c++ "$tmp/opted_out.$order.c"
	says "no old names after opting out, order $order" mrc_attr c -std=c11 \
		-DMRC_API_NO_OLD_NAMES "$tmp/old.$order.c"
	says "no old names after opting out, C++, order $order" mrc_attr cxx \
		-std=c++20 -DMRC_API_NO_OLD_NAMES -x c++ "$tmp/old.$order.c"
	# What such programs have been given so far.
	for define in -Dmrc_attr=mrc_device_attr -DMRC_API_OLD_NAMES \
		-DMRC_EV_PROFILE_ID=MRC_QP_EV_PROFILE_ID; do
		compiles "$define, order $order" c -std=c11 $define "$tmp/old.$order.c"
		compiles "$define, C++, order $order" cxx -std=c++20 $define \
			"${strict[@]}" -x c++ "$tmp/old.$order.c"
	done
	compiles "old and new names, C++, order $order" cxx -std=c++20 \
		-Dmrc_attr=mrc_device_attr -x c++ "$tmp/mixed.$order.c"
done
compiles "names of one's own before the headers, C++" cxx -std=c++20 "${strict[@]}" \
	-x c++ "$tmp/own++.3.c"
for opt in '' -DMRC_API_NO_OLD_NAMES; do
	# shellcheck disable=SC2086 # nothing or one word
	compiles "layout${opt:+ without old names}" c -std=c11 $opt "$here/layout.c"
	# shellcheck disable=SC2086
	compiles "layout${opt:+ without old names}, C++" cxx -std=c++11 $opt -x c++ \
		"$here/layout.c"
done

# --- manual pages ------------------------------------------------------------
# Declarations as the headers have them; examples that compile as they stand.
unroff() {
	sed 's/^\\&//; s/\\-/-/g; s/\\(aq/'"'"'/g; s/\\(ha/^/g; s/\\(ti/~/g; s/\\e/\\/g'
}
# The arguments of .BI and .B follow each other; spaces count in quotes only.
declarations() { # PAGE
	sed -n '/^\.SH SYNOPSIS$/,/^\.SH DESCRIPTION$/p' "$1" | sed -n '
		/^\.B #/{ s/^\.B //p; d; }
		/^\.BI\? /!d
		s/^\.BI\? //
		:arguments
		s/"\([^" ]*\) \([^"]*\)"/"\1\x01\2"/; t arguments
		s/[" ]//g; s/\x01/ /g; p' | unroff
}
example() { # PAGE
	sed -n '/^\.SH EXAMPLE$/,/^\.SH /{ /^\.EX$/,/^\.EE$/p; }' "$1" |
		grep -v -x '\.E[XE]' | unroff
}
examples=0
for page in "$headers"/man/*.3; do
	name=$(basename "$page")
	{ echo '#include <mrc_ctl.h>'; declarations "$page"; } >"$tmp/synopsis.c"
	grep -q '(' "$tmp/synopsis.c" || bad "$name: no declarations found"
	compiles "$name, declarations" c -std=c11 "$tmp/synopsis.c"
	compiles "$name, declarations, C++" cxx -std=c++20 -x c++ "$tmp/synopsis.c"
done
for page in "$headers"/man/*.[37]; do
	example "$page" >"$tmp/example.c"
	[ -s "$tmp/example.c" ] || continue
	examples=$((examples + 1))
	compiles "$(basename "$page"), example" c -std=c11 "$tmp/example.c"
done
[ "$examples" -ge 15 ] && good || bad "only $examples examples found in the manual pages"

# --- examples of the guides --------------------------------------------------
for f in "$here"/../../Documentation/guides/examples/*.c; do
	compiles "$(basename "$f") of the guides" c -std=gnu17 "$f"
done
compiles "first.cpp of the guides" cxx -std=c++20 \
	"$here/../../Documentation/guides/examples/first.cpp"

# --- the library -------------------------------------------------------------
if [ -n "$result" ]; then
	library=$result/lib/libmrc.so.1
	sed 's|//.*||; /^ \*/d' "$here/functions.c" |
		grep -o '\<mrc_[a-z_]*(' | tr -d '(' | sort >"$tmp/wanted"
	[ "$(wc -l <"$tmp/wanted")" = 41 ] && good ||
		bad "functions.c does not declare 41 functions"
	# A line is "... GLOBAL DEFAULT SECTION NAME@@VERSION".
	readelf --dyn-syms -W "$library" | awk '$7 != "UND" && $5 == "GLOBAL" ||
		$7 != "UND" && $5 == "WEAK" { print $4, $8 }' >"$tmp/symbols"
	sed -n 's/^FUNC //p' "$tmp/symbols" | sort >"$tmp/exported"
	sed 's/$/@@MRC_1.0/' "$tmp/wanted" | sort | diff - "$tmp/exported" >"$tmp/out" &&
		good || bad "exported functions (< missing, > too many)" "$tmp/out"
	grep -v '^FUNC ' "$tmp/symbols" | grep -v '^OBJECT MRC_1.0$' >"$tmp/out"
	[ ! -s "$tmp/out" ] && good || bad "exported things other than functions" "$tmp/out"
	readelf -d "$library" | grep -q 'SONAME.*\[libmrc\.so\.1\]' && good ||
		bad "the SONAME is not libmrc.so.1"
	# Names of libibverbs that a program's verbs shim replaces by its own
	# (it would call back here without end).
	readelf --dyn-syms -W "$library" | awk '$7 == "UND" { print $8 }' |
		sed 's/@.*//' | grep -E '^ibv_(create|destroy|modify|query|open|close)_(cq|qp|device)(_ex)?$|^ibv_(create_cq_ex|create_qp_ex|poll_cq|post_send|post_recv)$' >"$tmp/out"
	[ ! -s "$tmp/out" ] && good || bad "calls that a verbs shim intercepts" "$tmp/out"
	readelf -d "$library" | grep -q 'NEEDED.*\[libibverbs\.so\.1\]' && good ||
		bad "the library does not need libibverbs.so.1"
	# libibverbs goes on using a driver that registered itself.
	readelf -d "$library" | grep -q 'FLAGS_1.*NODELETE' && good ||
		bad "the library can be unloaded"
	for f in libmrc.so lib_mrc.so libnv_mrc.so; do
		[ "$(readlink "$result/lib/$f")" = libmrc.so.1 ] && good ||
			bad "$f is not a link to libmrc.so.1"
	done
	# The plug-in must be the library itself, not a copy: a program that
	# links the library has one of it then.
	plugin=$(readlink "$result"/libibverbs/libmrc-rdmav*.so)
	[ "$plugin" = "../$(readlink "$library")" ] && good ||
		bad "the plug-in is not a link to the library"
	for h in mrc mrc_api_ver mrc_ctl mrc_ctl_api_ver; do
		cmp -s "$result/include/$h.h" "$headers/$h.h" && good ||
			bad "$h.h is not installed as it is"
	done
	while read -r f; do
		[ -f "$result/man/man3/$f.3" ] || echo "$f"
	done <"$tmp/wanted" >"$tmp/out"
	[ ! -s "$tmp/out" ] && good || bad "functions without an installed manual page" "$tmp/out"
	grep -q '^Libs: .*-lmrc' "$result/dev/pkgconfig/libmrc.pc" && good ||
		bad "libmrc.pc does not link the library"
	grep -q 'add_library(mrc::mrc ' "$result/dev/cmake/mrc/mrc-config.cmake" && good ||
		bad "mrc-config.cmake does not define mrc::mrc"
	version=$(sed -n 's/^set(PACKAGE_VERSION "\(.*\)")/\1/p' \
		"$result/dev/cmake/mrc/mrc-config-version.cmake")
	[ "$version" = 1.0.1 ] && good ||
		bad "mrc-config-version.cmake says '$version'"
fi

echo "ABI: $passed passed, $failed failed"
[ "$failed" = 0 ]
