# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The part of mrcmap that makes no system call, for the program and for its tests.
set(MRCMAP_DIR "${CMAKE_CURRENT_LIST_DIR}")
find_package(nlohmann_json REQUIRED)

include("${MRCMAP_DIR}/../mrclab/fabric.cmake")

add_library(mrcmap_core STATIC
	"${MRCMAP_DIR}/agent_state.cpp"
	"${MRCMAP_DIR}/calendar.cpp"
	"${MRCMAP_DIR}/collector_state.cpp"
	"${MRCMAP_DIR}/config.cpp"
	"${MRCMAP_DIR}/delay_fit.cpp"
	"${MRCMAP_DIR}/deny.cpp"
	"${MRCMAP_DIR}/evidence.cpp"
	"${MRCMAP_DIR}/health.cpp"
	"${MRCMAP_DIR}/locate.cpp"
	"${MRCMAP_DIR}/loss_fit.cpp"
	"${MRCMAP_DIR}/merge.cpp"
	"${MRCMAP_DIR}/output.cpp"
	"${MRCMAP_DIR}/output_dot.cpp"
	"${MRCMAP_DIR}/packet.cpp"
	"${MRCMAP_DIR}/places.cpp"
	"${MRCMAP_DIR}/plan.cpp"
	"${MRCMAP_DIR}/report.cpp"
	"${MRCMAP_DIR}/window.cpp"
)
target_include_directories(mrcmap_core PUBLIC "${MRCMAP_DIR}")
target_link_libraries(mrcmap_core PUBLIC mrclab_fabric
	nlohmann_json::nlohmann_json)
