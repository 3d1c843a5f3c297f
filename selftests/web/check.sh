#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The page of "mrcctl serve" in Chromium without a window: what stands on it, that hostile
# names stay text, errors, light and dark, wide and narrow. Run from anywhere, without
# privileges. Builds the server with made-up devices. Prints TAP and writes pictures to
# build/web/*.png.
#
# usage: check.sh [-b BUILD-DIRECTORY] [CASE]...   (default: build/web/build, which is made;
# all cases; check.py has their names)
# CHROMIUM names another browser. Needs chromium and what the native tests need.
set -euo pipefail
cd "$(dirname "$0")"
top=$(cd ../.. && pwd)

browser=${CHROMIUM:-chromium}
command -v "$browser" >/dev/null || {
	echo "Bail out! no $browser; Debian has it: apt-get install --no-install-recommends chromium fonts-dejavu-core"
	exit 1
}
dir=$top/build/web/build
if [ "${1:-}" = -b ]; then
	dir=$2
	shift 2
fi
out=$top/build/web
mkdir -p "$out"
[ -f "$dir/build.ninja" ] || cmake -S "$top/selftests/mrcctl" -B "$dir" -G Ninja \
	-DMRC_SANITIZE_TESTS=OFF >"$out/build.log" 2>&1 || {
	cat "$out/build.log"
	exit 1
}
nice ninja -C "$dir" -j2 serve_fake >"$out/build.log" 2>&1 || {
	grep -E -A4 'error|FAILED' "$out/build.log" | head -n 40
	echo "Bail out! the server does not build"
	exit 1
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Preferences of the user who runs this must not matter.
export HOME=$work XDG_CONFIG_HOME=$work/config XDG_CACHE_HOME=$work/cache
export PYTHONDONTWRITEBYTECODE=1
python3 ./check.py --browser "$browser" --server "$dir/serve_fake" --work "$work" --out "$out" "$@"
