# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# mrcctl's kernel interface, for mrcctl and for mrcmap. Needs ../common/libmrc.cmake.
include("${CMAKE_CURRENT_LIST_DIR}/core.cmake")

# Another project of this build may have it.
if(TARGET mrcctl_kernel)
	return()
endif()
add_library(mrcctl_kernel STATIC
	"${MRCCTL_DIR}/../common/rdma_netlink.cpp"
	"${MRCCTL_DIR}/../common/uverbs.cpp"
	"${MRCCTL_DIR}/kernel.cpp"
	"${MRCCTL_DIR}/kernel_profile.cpp"
	"${MRCCTL_DIR}/nldev.cpp"
	"${MRCCTL_DIR}/sysfs.cpp"
)
target_include_directories(mrcctl_kernel PRIVATE "${MRCCTL_DIR}/../../include/uapi")
target_link_libraries(mrcctl_kernel PUBLIC mrcctl_core libmrc)
