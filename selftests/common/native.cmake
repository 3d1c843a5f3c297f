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
include("${CMAKE_CURRENT_LIST_DIR}/only_tests.cmake")
add_compile_options(-Werror)
if(MRC_SANITIZE)
	add_compile_options(-fsanitize=address,undefined
		-fno-sanitize-recover=all)
	add_link_options(-fsanitize=address,undefined)
endif()

find_package(GTest REQUIRED)
include(GoogleTest)
enable_testing()
