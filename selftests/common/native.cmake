# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# How native tests of the tools are compiled and found; to be included after
# project(). They have sanitizers unless MRC_SANITIZE is OFF.
if(NOT CMAKE_BUILD_TYPE)
	set(CMAKE_BUILD_TYPE Debug)
endif()
if(NOT DEFINED CMAKE_UNITY_BUILD)
	set(CMAKE_UNITY_BUILD ON)
endif()
include("${CMAKE_CURRENT_LIST_DIR}/../../userspace-tools/common/program.cmake")

# -g1 is enough for what the sanitizers report.
set(CMAKE_CXX_FLAGS_DEBUG -g1)

option(MRC_SANITIZE "Build with AddressSanitizer and UBSan" ON)
option(MRC_SANITIZE_TESTS "UBSan in the tests, too" OFF)
add_compile_options(-Werror)
if(MRC_SANITIZE)
	add_compile_options(-fsanitize=address,undefined
		-fno-sanitize-recover=all)
	add_link_options(-fsanitize=address,undefined)
endif()

# usage: only_tests(TARGET)   its files are tests, and not what is tested
# UBSan is for what is tested. In the tests it takes a third of the time to compile them.
# Inline functions of headers may come from the tests, too, and then lack it; what
# "check.sh prop" and "check.sh map" build has it everywhere.
function(only_tests target)
	if(MRC_SANITIZE AND NOT MRC_SANITIZE_TESTS)
		target_compile_options(${target} PRIVATE -fno-sanitize=undefined)
	endif()
endfunction()

find_package(GTest REQUIRED)
include(GoogleTest)
enable_testing()
