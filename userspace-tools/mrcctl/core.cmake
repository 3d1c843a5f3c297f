# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# All of mrcctl except the kernel interface, for the program and for its tests.
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(fmt REQUIRED)

set(MRCCTL_DIR "${CMAKE_CURRENT_LIST_DIR}")
# Another project of this build may have it.
if(TARGET mrcctl_core)
	return()
endif()
set(MRCCTL_WEB_FILES "${CMAKE_CURRENT_BINARY_DIR}/web_files.cpp")
set(MRCCTL_WEB app.css app.js draw.js index.html map.js)
list(TRANSFORM MRCCTL_WEB PREPEND "${MRCCTL_DIR}/web/")
add_custom_command(OUTPUT "${MRCCTL_WEB_FILES}"
	COMMAND "${CMAKE_COMMAND}" -D "DIR=${MRCCTL_DIR}/web"
		-D "OUT=${MRCCTL_WEB_FILES}" -P "${MRCCTL_DIR}/web_files.cmake"
	DEPENDS ${MRCCTL_WEB} "${MRCCTL_DIR}/web_files.cmake"
	VERBATIM)
add_library(mrcctl_core STATIC
	"${MRCCTL_DIR}/cli.cpp"
	"${MRCCTL_DIR}/cmd_device.cpp"
	"${MRCCTL_DIR}/cmd_doctor.cpp"
	"${MRCCTL_DIR}/cmd_links.cpp"
	"${MRCCTL_DIR}/cmd_metrics.cpp"
	"${MRCCTL_DIR}/cmd_plane.cpp"
	"${MRCCTL_DIR}/cmd_probe.cpp"
	"${MRCCTL_DIR}/cmd_profile.cpp"
	"${MRCCTL_DIR}/cmd_serve.cpp"
	"${MRCCTL_DIR}/cmd_watch.cpp"
	"${MRCCTL_DIR}/commands.cpp"
	"${MRCCTL_DIR}/endpoint.cpp"
	"${MRCCTL_DIR}/error.cpp"
	"${MRCCTL_DIR}/expand.cpp"
	"${MRCCTL_DIR}/figures.cpp"
	"${MRCCTL_DIR}/findings.cpp"
	"${MRCCTL_DIR}/findings_device.cpp"
	"${MRCCTL_DIR}/findings_net.cpp"
	"${MRCCTL_DIR}/findings_peer.cpp"
	"${MRCCTL_DIR}/firewall.cpp"
	"${MRCCTL_DIR}/gids.cpp"
	"${MRCCTL_DIR}/health_file.cpp"
	"${MRCCTL_DIR}/host.cpp"
	"${MRCCTL_DIR}/json_in.cpp"
	"${MRCCTL_DIR}/json_out.cpp"
	"${MRCCTL_DIR}/link_ports.cpp"
	"${MRCCTL_DIR}/link_units.cpp"
	"${MRCCTL_DIR}/links.cpp"
	"${MRCCTL_DIR}/metrics.cpp"
	"${MRCCTL_DIR}/names.cpp"
	"${MRCCTL_DIR}/plane.cpp"
	"${MRCCTL_DIR}/plane_host.cpp"
	"${MRCCTL_DIR}/plane_words.cpp"
	"${MRCCTL_DIR}/profile.cpp"
	"${MRCCTL_DIR}/sampler.cpp"
	"${MRCCTL_DIR}/site.cpp"
	"${MRCCTL_DIR}/snapshot_net.cpp"
	"${MRCCTL_DIR}/snapshot_probe.cpp"
	"${MRCCTL_DIR}/snapshot_read.cpp"
	"${MRCCTL_DIR}/state.cpp"
	"${MRCCTL_DIR}/text.cpp"
	"${MRCCTL_DIR}/watch.cpp"
	"${MRCCTL_DIR}/words.cpp"
	"${MRCCTL_WEB_FILES}"
)
target_include_directories(mrcctl_core PUBLIC "${MRCCTL_DIR}")
target_link_libraries(mrcctl_core PUBLIC CLI11::CLI11
	nlohmann_json::nlohmann_json fmt::fmt)
