# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Adds mrcctl's HTTP server to a program. It is no part of the core, so that only those
# that serve need the library, cpp-httplib.
#
# usage: mrcctl_http(TARGET)
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(HTTPLIB REQUIRED IMPORTED_TARGET cpp-httplib)
# From 0.18 on inline functions of the header call OpenSSL if the library is built with it,
# which cpp-httplib.pc does not say.
pkg_check_modules(LIBCRYPTO IMPORTED_TARGET libcrypto)

set(MRCCTL_HTTP_SERVER "${CMAKE_CURRENT_LIST_DIR}/http_server.cpp")
function(mrcctl_http target)
	target_sources(${target} PRIVATE "${MRCCTL_HTTP_SERVER}")
	# The header of the library is large and has macros.
	set_source_files_properties("${MRCCTL_HTTP_SERVER}" PROPERTIES
		SKIP_UNITY_BUILD_INCLUSION ON)
	target_link_options(${target} PRIVATE LINKER:--as-needed)
	target_link_libraries(${target} PRIVATE PkgConfig::HTTPLIB Threads::Threads)
	if(LIBCRYPTO_FOUND)
		target_link_libraries(${target} PRIVATE PkgConfig::LIBCRYPTO)
	endif()
endfunction()
