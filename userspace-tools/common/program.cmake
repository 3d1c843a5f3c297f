# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Compiler settings of the project's C++ programs; include it after project().
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
if(NOT CMAKE_BUILD_TYPE)
	set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
add_compile_options(-Wall -Wextra -Wshadow)

# Most of the time to compile these goes to templates of nlohmann-json, fmt and
# GoogleTest, so the lab compiles several files together: mrcctl with its tests took
# 250 s of processor time and takes 95. By default files are compiled one by one, which
# shows missing includes and shadowed names.
if(CMAKE_UNITY_BUILD)
	set(CMAKE_UNITY_BUILD_BATCH_SIZE 8)
	add_compile_options(-Wno-shadow -Wno-subobject-linkage)
endif()
