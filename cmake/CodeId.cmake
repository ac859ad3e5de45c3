# A script that writes OUT, a header that defines WEFT_CODE_ID as a hash of the files INPUTS (separated by |). These
# files alone decide which code is generated. Kernels that another state of the files has cached are never used.
string(REPLACE "|" ";" files "${INPUTS}")
list(SORT files)
set(all "")
foreach(file IN LISTS files)
    file(SHA256 "${file}" hash)
    string(APPEND all "${hash}")
endforeach()
string(SHA256 id "${all}")
string(SUBSTRING "${id}" 0 16 id)
file(WRITE "${OUT}" "#define WEFT_CODE_ID \"${id}\"\n")
