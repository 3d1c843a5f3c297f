# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The target libmrc is the project's libMRC and libibverbs. MRC_INCLUDE_DIR and
# MRC_LIBRARY_DIR may name directories with libMRC's headers and with libmrc.so.
find_path(MRC_INCLUDE mrc.h HINTS "${MRC_INCLUDE_DIR}" REQUIRED)
find_library(MRC_LIBRARY mrc HINTS "${MRC_LIBRARY_DIR}" REQUIRED)
find_library(IBVERBS ibverbs REQUIRED)

# Another project of this build may have it.
if(TARGET libmrc)
	return()
endif()
add_library(libmrc INTERFACE)
target_include_directories(libmrc SYSTEM INTERFACE "${MRC_INCLUDE}")
target_link_libraries(libmrc INTERFACE "${MRC_LIBRARY}" "${IBVERBS}")
