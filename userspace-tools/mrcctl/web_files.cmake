# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Writes a C++ file that has the contents of the files in web/.
#
# usage: cmake -D DIR=.../web -D OUT=FILE.cpp -P web_files.cmake
set(out "// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Made of the files in web/.
#include \"web_files.hpp\"

namespace mrcctl
{
namespace
{
constexpr WebFile files[] = {
")

function(add_file path name type)
	file(READ "${DIR}/${name}" text)
	string(FIND "${text}" ")web\"" at)
	if(NOT at EQUAL -1)
		message(FATAL_ERROR "${name} has the end of a raw string")
	endif()
	set(out "${out}\t{\"${path}\", \"${type}\", R\"web(${text})web\"},\n" PARENT_SCOPE)
endfunction()

add_file("/" index.html "text/html; charset=utf-8")
add_file("/app.css" app.css "text/css; charset=utf-8")
add_file("/app.js" app.js "text/javascript; charset=utf-8")
add_file("/draw.js" draw.js "text/javascript; charset=utf-8")
add_file("/map.js" map.js "text/javascript; charset=utf-8")

file(WRITE "${OUT}" "${out}};
} // namespace

std::span<const WebFile> web_files()
{
	return files;
}
} // namespace mrcctl
")
