# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The part of mrcsim without a command line, for the program and for its tests.
enable_language(C)
set(MRCSIM_DIR "${CMAKE_CURRENT_LIST_DIR}")
find_package(nlohmann_json REQUIRED)
find_package(Threads REQUIRED)

include("${MRCSIM_DIR}/../mrclab/fabric.cmake")
add_subdirectory("${MRCSIM_DIR}/../engine" engine EXCLUDE_FROM_ALL)
# Static functions of its files have the same names.
set_target_properties(mrc-engine mrc-model PROPERTIES UNITY_BUILD OFF)
# In C++ some of its functions hide the constructors of structures, which -Wshadow reports.
get_target_property(mrcsim_engine mrc-engine INTERFACE_INCLUDE_DIRECTORIES)
set_target_properties(mrc-engine PROPERTIES
	INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${mrcsim_engine}")
target_compile_options(mrc-engine PRIVATE -Wno-shadow -fno-strict-aliasing)

add_library(mrcsim_core STATIC
	"${MRCSIM_DIR}/curves.cpp"
	"${MRCSIM_DIR}/cut.cpp"
	"${MRCSIM_DIR}/fabric_shape.cpp"
	"${MRCSIM_DIR}/fault.cpp"
	"${MRCSIM_DIR}/goal_file.cpp"
	"${MRCSIM_DIR}/host.cpp"
	"${MRCSIM_DIR}/host_roce.cpp"
	"${MRCSIM_DIR}/html_report.cpp"
	"${MRCSIM_DIR}/lines.cpp"
	"${MRCSIM_DIR}/link.cpp"
	"${MRCSIM_DIR}/matrix_file.cpp"
	"${MRCSIM_DIR}/mpi_peers.cpp"
	"${MRCSIM_DIR}/partition.cpp"
	"${MRCSIM_DIR}/peers.cpp"
	"${MRCSIM_DIR}/pfc.cpp"
	"${MRCSIM_DIR}/plan.cpp"
	"${MRCSIM_DIR}/qp.cpp"
	"${MRCSIM_DIR}/queues.cpp"
	"${MRCSIM_DIR}/record.cpp"
	"${MRCSIM_DIR}/report.cpp"
	"${MRCSIM_DIR}/roce.cpp"
	"${MRCSIM_DIR}/routes.cpp"
	"${MRCSIM_DIR}/runner.cpp"
	"${MRCSIM_DIR}/scenario.cpp"
	"${MRCSIM_DIR}/scenario_traffic.cpp"
	"${MRCSIM_DIR}/settings.cpp"
	"${MRCSIM_DIR}/shape.cpp"
	"${MRCSIM_DIR}/simulator.cpp"
	"${MRCSIM_DIR}/simulator_faults.cpp"
	"${MRCSIM_DIR}/simulator_peers.cpp"
	"${MRCSIM_DIR}/topo_file.cpp"
	"${MRCSIM_DIR}/traffic.cpp"
	"${MRCSIM_DIR}/world.cpp"
)
target_include_directories(mrcsim_core PUBLIC "${MRCSIM_DIR}")
target_compile_options(mrcsim_core PUBLIC -fno-strict-aliasing)
target_link_libraries(mrcsim_core PUBLIC mrclab_fabric mrc-engine
	nlohmann_json::nlohmann_json Threads::Threads)

# One simulation over several processes.
option(MRCSIM_MPI "Use MPI" OFF)
if(MRCSIM_MPI)
	find_package(MPI REQUIRED COMPONENTS CXX)
	target_compile_definitions(mrcsim_core PRIVATE MRCSIM_MPI
		OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
	target_link_libraries(mrcsim_core PUBLIC MPI::MPI_CXX)
endif()
