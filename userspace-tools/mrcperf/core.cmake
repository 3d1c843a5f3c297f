# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# All of mrcperf except the device, for the program and for its tests.
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(fmt REQUIRED)

set(MRCPERF_DIR "${CMAKE_CURRENT_LIST_DIR}")
# Another project of this build may have it.
if(TARGET mrcperf_core)
	return()
endif()
add_library(mrcperf_core STATIC
	"${MRCPERF_DIR}/error.cpp"
	"${MRCPERF_DIR}/frame.cpp"
	"${MRCPERF_DIR}/link.cpp"
	"${MRCPERF_DIR}/options.cpp"
	"${MRCPERF_DIR}/pingpong.cpp"
	"${MRCPERF_DIR}/plan.cpp"
	"${MRCPERF_DIR}/report.cpp"
	"${MRCPERF_DIR}/session.cpp"
	"${MRCPERF_DIR}/side.cpp"
	"${MRCPERF_DIR}/stats.cpp"
	"${MRCPERF_DIR}/stream.cpp"
)
target_include_directories(mrcperf_core PUBLIC "${MRCPERF_DIR}")
target_link_libraries(mrcperf_core PUBLIC CLI11::CLI11
	nlohmann_json::nlohmann_json fmt::fmt)
