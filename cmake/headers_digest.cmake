# Writes the C file OUT, which has the digest of the public headers in the folder HEADERS. Comments and white space do not count. The function
# headers_digest in python/tools/native.py computes the same, so that the Python package notices a library of other headers.
file(GLOB headers ${HEADERS}/*.h) # sorted by name
set(text "")
foreach(header ${headers})
    file(READ ${header} one)
    string(APPEND text "${one}")
endforeach()
string(REGEX REPLACE "/[*][^*]*[*]+([^/*][^*]*[*]+)*/" "" text "${text}")
string(REGEX REPLACE "[ \t\r\n]+" "" text "${text}")
string(SHA256 digest "${text}")
file(WRITE ${OUT} "/* Written by cmake/headers_digest.cmake. */
#include \"hawser/version.h\"

const char *hawser_headers_digest(void)
{
    return \"${digest}\";
}
")
