#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Refuses scripts that are too long to read in one go.
#
# usage: script-sizes.sh FILE...
set -euo pipefail

wc -l "$@" | awk -v most=500 '
	$2 != "total" && $1 > most {
		print $2 " has " $1 " lines, more than " most
		bad = 1
	}
	END { exit bad }'
