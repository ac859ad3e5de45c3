# The small LLVM (tools/make_llvm) is found beside the tool and in the folder weft_llvm beside the tool's folder, before
# the libraries of the system and after WEFT_LLVM.
. "$(dirname "$0")/lib.bash" || exit 1

unset WEFT_LLVM
"$WEFT" info > info.txt 2> err.txt
if grep -qE '^LLVM      not looked for' info.txt || grep -q 'has no code generator' err.txt; then
    echo 'skipped: this build or this processor has no code generation'
    exit 0
fi
found=$(sed -nE 's/^LLVM      [0-9]+, //p' info.txt)
major=$(sed -nE 's/^LLVM      ([0-9]+), .*/\1/p' info.txt)

# The packages of Python are folders side by side: weft has Weft's code, weft_llvm the library.
mkdir -p site/weft site/weft_llvm
cp "$WEFT" site/weft/weft
weft=$PWD/site/weft/weft
library=$(ldd "$WEFT" | awk '$1 ~ /^libweft\.so/ { print $3 }')
if [ -n "$library" ]; then # a tool with the shared library, which then decides
    cp "$library" site/weft/
    export LD_LIBRARY_PATH=$PWD/site/weft
fi

# in_use PATTERN [COMMAND...]: `weft info` names a library whose path matches PATTERN
in_use() {
    local pattern=$1
    shift
    "$@" "$weft" info > info.txt 2> err.txt || die "info: $(cat err.txt)"
    grep -qE "^LLVM +([0-9]+, )?$pattern(:|\$)" info.txt || die "expected $pattern: $(grep ^LLVM info.txt)"
}

echo 'no library' > site/weft_llvm/libweft_llvm.so.22
in_use '.*/site/weft/\.\./weft_llvm/libweft_llvm\.so\.22'
echo 'no library' > site/weft_llvm/libweft_llvm.so.19 # 19 is preferred
in_use '.*/site/weft/\.\./weft_llvm/libweft_llvm\.so\.19'
in_use '.*/site/weft/\.\./weft_llvm/libweft_llvm\.so\.22' env WEFT_LLVM=22
in_use 'not found \(WEFT_LLVM is none\)' env WEFT_LLVM=none
echo 'no library' > site/weft/libweft_llvm.so.19 # the tool's own folder comes first
in_use '.*/site/weft/libweft_llvm\.so\.19'
in_use '.*/site/weft/libweft_llvm\.so\.19' env -C /
in_use "$PWD/site/weft_llvm/libweft_llvm\\.so\\.19" env WEFT_LLVM="$PWD/site/weft_llvm/libweft_llvm.so.19"
rm site/weft/libweft_llvm.so.19 site/weft_llvm/*
for folder in lib lib64 "lib/$(uname -m)-linux-gnu"; do # the one that this build installs libraries into
    mkdir -p "site/$folder"
    echo 'no library' > "site/$folder/libweft_llvm.so.19"
done
in_use '.*/site/weft/\.\./lib[^ ]*/libweft_llvm\.so\.19'
rm -r site/lib*

# A real library, opened under this name.
if [ -n "$found" ]; then
    in_use "$found"
    ln -s "$found" "site/weft_llvm/libweft_llvm.so.$major"
    in_use ".*/site/weft/\\.\\./weft_llvm/libweft_llvm\\.so\\.$major"
    grep -q "^LLVM      $major, " info.txt || die "not opened: $(cat info.txt)"
    prints 45 env WEFT_CACHE="$PWD/cache" "$weft" calc 'sum(x)' --shape 10
fi
