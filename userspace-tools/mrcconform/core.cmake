# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The part of mrcconform that needs no device, for the program and for its tests.
find_package(nlohmann_json REQUIRED)
find_package(fmt REQUIRED)

set(MRCCONFORM_DIR "${CMAKE_CURRENT_LIST_DIR}")
add_library(mrcconform_core STATIC
	"${MRCCONFORM_DIR}/bench.cpp"
	"${MRCCONFORM_DIR}/cases.cpp"
	"${MRCCONFORM_DIR}/cases_ack.cpp"
	"${MRCCONFORM_DIR}/cases_endpoint.cpp"
	"${MRCCONFORM_DIR}/cases_imm.cpp"
	"${MRCCONFORM_DIR}/cases_planes.cpp"
	"${MRCCONFORM_DIR}/cases_req.cpp"
	"${MRCCONFORM_DIR}/cases_req_loss.cpp"
	"${MRCCONFORM_DIR}/cases_sack.cpp"
	"${MRCCONFORM_DIR}/cases_srv6.cpp"
	"${MRCCONFORM_DIR}/cases_trim.cpp"
	"${MRCCONFORM_DIR}/cases_wire.cpp"
	"${MRCCONFORM_DIR}/cases_write.cpp"
	"${MRCCONFORM_DIR}/codec.cpp"
	"${MRCCONFORM_DIR}/error.cpp"
	"${MRCCONFORM_DIR}/ip.cpp"
	"${MRCCONFORM_DIR}/link.cpp"
	"${MRCCONFORM_DIR}/proto.cpp"
	"${MRCCONFORM_DIR}/qp.cpp"
	"${MRCCONFORM_DIR}/report.cpp"
	"${MRCCONFORM_DIR}/vectors.cpp"
	"${MRCCONFORM_DIR}/wire.cpp"
)
target_include_directories(mrcconform_core PUBLIC "${MRCCONFORM_DIR}")
target_link_libraries(mrcconform_core PUBLIC nlohmann_json::nlohmann_json
	fmt::fmt)
# Files with cases have functions of the same names, so they are compiled one by one.
set_source_files_properties(
	"${MRCCONFORM_DIR}/cases_ack.cpp"
	"${MRCCONFORM_DIR}/cases_endpoint.cpp"
	"${MRCCONFORM_DIR}/cases_imm.cpp"
	"${MRCCONFORM_DIR}/cases_planes.cpp"
	"${MRCCONFORM_DIR}/cases_req.cpp"
	"${MRCCONFORM_DIR}/cases_req_loss.cpp"
	"${MRCCONFORM_DIR}/cases_sack.cpp"
	"${MRCCONFORM_DIR}/cases_srv6.cpp"
	"${MRCCONFORM_DIR}/cases_trim.cpp"
	"${MRCCONFORM_DIR}/cases_wire.cpp"
	"${MRCCONFORM_DIR}/cases_write.cpp"
	PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
