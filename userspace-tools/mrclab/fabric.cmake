# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Files, names, addresses and pictures of fabrics, for mrclab and for other tools
# that read the same files.
find_package(yaml-cpp REQUIRED)
find_package(fmt REQUIRED)

include("${CMAKE_CURRENT_LIST_DIR}/../common/gnuplot.cmake")

set(MRCLAB_DIR "${CMAKE_CURRENT_LIST_DIR}")
# Another project of this build may have it.
if(TARGET mrclab_fabric)
	return()
endif()
add_library(mrclab_fabric STATIC
	"${MRCLAB_DIR}/address.cpp"
	"${MRCLAB_DIR}/dot.cpp"
	"${MRCLAB_DIR}/error.cpp"
	"${MRCLAB_DIR}/fabric.cpp"
	"${MRCLAB_DIR}/fabric_file.cpp"
	"${MRCLAB_DIR}/tc_commands.cpp"
	"${MRCLAB_DIR}/text.cpp"
	"${MRCLAB_DIR}/topology.cpp"
	"${MRCLAB_DIR}/units.cpp"
	"${MRCLAB_DIR}/yaml.cpp"
)
target_include_directories(mrclab_fabric PUBLIC "${MRCLAB_DIR}")
target_link_libraries(mrclab_fabric PUBLIC yaml-cpp fmt::fmt gnuplot_text)
