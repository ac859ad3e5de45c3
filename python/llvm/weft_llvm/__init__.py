"""The folder of libweft_llvm, which the package weft opens. There is nothing to import."""
