# The tool on the PTX emulator: results equal those of the processor; refused devices; places where the emulator is found.
. "$(dirname "$0")/lib.bash" || exit 1
emulator=$(dirname "$WEFT")/libweft_cuda_emu.so

"$WEFT" calc 'x*x - 3*y' --shape 9,14 --dtype f32 -o a.npy
for text in 'sqrt(abs(a)) + f32(x)' 'a - mean(a; 0)' 'a[y, x+1; clamp] - a[y-1, x; 0]' \
    'f32 s = 0; for (int k = -2; k <= 2; k++) s += a[y, x+k; clamp]; out = s/5'; do
    "$WEFT" calc "$text" a=a.npy -o cpu.npy
    "$WEFT" calc "$text" a=a.npy -o emu.npy --device cuda-emu
    cmp cpu.npy emu.npy || die "$text: cuda-emu differs"
done
WEFT_CUDA=$emulator "$WEFT" calc "$text" a=a.npy -o cuda.mrc --device cuda:0
"$WEFT" calc "$text" a=a.npy -o cpu.mrc
prints 0 "$WEFT" calc 'max(abs(a - b))' a=cuda.mrc b=cpu.mrc
prints "$("$WEFT" calc 'sum(a)' a=a.npy)" "$WEFT" calc 'sum(a)' a=a.npy --device cuda-emu
prints "$("$WEFT" calc 'a * 2' a=a.npy)" "$WEFT" calc 'a * 2' a=a.npy --device cuda-emu
prints '0 1 2 3' "$WEFT" calc x --shape 4 --device cuda-emu
prints "$("$WEFT" stats --json --median a.npy)" "$WEFT" stats --json --median a.npy --device cuda-emu
printf 'data_\nloop_\n_rlnCoordinateX\n_rlnCoordinateY\n5 2\n9 7\n' > picks.star
prints "$(printf '2 5\n7 9')" "$WEFT" pick a.npy --coordinates picks.star --box 4 -o cut.npy --device cuda-emu
prints 2 "$WEFT" calc 'a[0, 2, 2] - b[2, 5] + 2' --shape 1 a=cut.npy b=a.npy

# --- refused
refuses 1 '^weft: .*cuda:0: no NVIDIA driver was found (WEFT_CUDA: /no/such.so: ' \
    env WEFT_CUDA=/no/such.so "$WEFT" calc 'a * 2' a=a.npy --device cuda
refuses 1 '^weft: .*cuda-emu:0: no PTX emulator was found (WEFT_CUDA_EMU: /no/such.so: ' \
    env WEFT_CUDA_EMU=/no/such.so "$WEFT" calc 1+1 --device cuda-emu
refuses 1 'there is no cuda-emu:9' "$WEFT" calc 'a' a=a.npy --device cuda-emu:9
refuses 2 'the devices are cpu, interp, cuda:0 and cuda-emu' "$WEFT" calc 1 --device gpu
refuses 2 'cpu and interp only' "$WEFT" view a.npy -o a.png --device cuda-emu
refuses 1 'data race: this write at' "$WEFT" calc 'i32 i = x / 2; out[i] = x' --shape 4 --device cuda-emu

# --- the emulator beside the tool, and in the folder of an installation
unset WEFT_CUDA_EMU
prints 5 "$WEFT" calc 2+3 --device cuda-emu
mkdir -p tree/bin
cp "$WEFT" tree/bin/weft
refuses 1 'tree/bin/libweft_cuda_emu.so: .*tree/bin/\.\./lib.*/libweft_cuda_emu.so: .*; libweft_cuda_emu.so: ' \
    tree/bin/weft calc 2+3 --device cuda-emu
folder=$(sed -n 's|.*tree/bin/\(\.\./lib[^:]*\)/libweft_cuda_emu.so.*|\1|p' refused.err | head -n 1)
mkdir -p "tree/bin/$folder"
cp "$emulator" "tree/bin/$folder"
prints 5 tree/bin/weft calc 2+3 --device cuda-emu
