# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The part of mrclab that makes no system call, for the program and for its tests.
find_package(nlohmann_json REQUIRED)

include("${CMAKE_CURRENT_LIST_DIR}/fabric.cmake")

add_library(mrclab_core STATIC
	"${MRCLAB_DIR}/counters.cpp"
	"${MRCLAB_DIR}/drill_file.cpp"
	"${MRCLAB_DIR}/drill_musts.cpp"
	"${MRCLAB_DIR}/drill_result.cpp"
	"${MRCLAB_DIR}/drill_series.cpp"
	"${MRCLAB_DIR}/drill_traffic.cpp"
	"${MRCLAB_DIR}/drill_verdicts.cpp"
	"${MRCLAB_DIR}/ev_packet.cpp"
	"${MRCLAB_DIR}/export.cpp"
	"${MRCLAB_DIR}/export_containerlab.cpp"
	"${MRCLAB_DIR}/export_frr.cpp"
	"${MRCLAB_DIR}/export_linux.cpp"
	"${MRCLAB_DIR}/export_parts.cpp"
	"${MRCLAB_DIR}/export_profiles.cpp"
	"${MRCLAB_DIR}/export_sonic.cpp"
	"${MRCLAB_DIR}/fault.cpp"
	"${MRCLAB_DIR}/fault_commands.cpp"
	"${MRCLAB_DIR}/flow.cpp"
	"${MRCLAB_DIR}/graph.cpp"
	"${MRCLAB_DIR}/ip_commands.cpp"
	"${MRCLAB_DIR}/perftest.cpp"
	"${MRCLAB_DIR}/plot.cpp"
	"${MRCLAB_DIR}/profiles.cpp"
	"${MRCLAB_DIR}/report_html.cpp"
	"${MRCLAB_DIR}/report_rows.cpp"
	"${MRCLAB_DIR}/report_summary.cpp"
	"${MRCLAB_DIR}/sonic_qos.cpp"
	"${MRCLAB_DIR}/status.cpp"
	"${MRCLAB_DIR}/timeline.cpp"
)
target_link_libraries(mrclab_core PUBLIC mrclab_fabric
	nlohmann_json::nlohmann_json)
