# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# usage: only_tests(TARGET)   its files are tests, and not what is tested
#
# UBSan is for what is tested. In the tests it takes a fourth to a third of the time to
# compile them. Inline functions of headers may come from the tests, too, and then lack
# it; what "check.sh prop" and "check.sh map" build has it everywhere.
option(MRC_SANITIZE_TESTS "UBSan in the tests, too" OFF)

function(only_tests target)
	if(MRC_SANITIZE AND NOT MRC_SANITIZE_TESTS)
		target_compile_options(${target} PRIVATE -fno-sanitize=undefined)
	endif()
endfunction()
