# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# All of mrcbench except devices, sockets and namespaces, for the program and
# for its tests.
set(MRCBENCH_DIR "${CMAKE_CURRENT_LIST_DIR}")
include("${MRCBENCH_DIR}/../mrcperf/core.cmake")
include("${MRCBENCH_DIR}/../common/gnuplot.cmake")

add_library(mrcbench_core STATIC
	"${MRCBENCH_DIR}/chart.cpp"
	"${MRCBENCH_DIR}/cli.cpp"
	"${MRCBENCH_DIR}/cpu.cpp"
	"${MRCBENCH_DIR}/figures.cpp"
	"${MRCBENCH_DIR}/memory.cpp"
	"${MRCBENCH_DIR}/metrics.cpp"
	"${MRCBENCH_DIR}/plans.cpp"
	"${MRCBENCH_DIR}/results.cpp"
	"${MRCBENCH_DIR}/talk.cpp"
)
target_include_directories(mrcbench_core PUBLIC "${MRCBENCH_DIR}")
target_link_libraries(mrcbench_core PUBLIC mrcperf_core gnuplot_text)
