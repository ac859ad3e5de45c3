# Ranks over a real MPI: run.sh KIND BUILD MPICC. KIND is openmpi or mpich; MPICC is empty where the build has found none.
# Without that MPI the test is skipped (77), and says so.
set -eu
kind=$1 build=$2 mpicc=${3-}
. "$(dirname "$0")/launch.sh"
other=mpich title='Open MPI' other_title=MPICH
[ "$kind" = openmpi ] || { other=openmpi title=MPICH other_title='Open MPI'; }
program=$build/mpi_program

for n in 1 2 3 4; do
    launch $n "$program" checks || die "$n ranks"
    launch $n "$program" size $n || die "$n ranks: the number of ranks"
done
for n in 1 2 3 4; do
    count=40
    [ "$n" -le "$(nproc)" ] || [ "$kind" = openmpi ] || count=15 # ranks of MPICH spin while they wait for a core
    launch $n "$program" random $count || die "$n ranks: random programs"
done
WEFT_MPI=$build/test_parts_mpi-$kind.so WEFT_MPI_TIMEOUT=100 launch 2 "$program" random 20 ||
    die 'random programs of messages of several parts'
WEFT_MPI=$build/test_parts_mpi-$kind.so launch 3 "$program" checks || die 'messages of several parts'
launch 3 "$program" checks 60 || die 'collective functions of messages'
WEFT_MPI=$build/test_parts_mpi-$kind.so launch 2 "$program" checks 60 || die 'several parts, with a timeout'
if [ "$kind" = openmpi ]; then
    launch 3 --mca btl self,tcp "$program" checks || die 'over TCP'
    launch 2 --mca btl self,tcp "$program" distributed || die 'distributed arrays over TCP'
fi
for n in 1 3; do
    launch $n "$program" distributed || die "$n ranks: distributed arrays"
done

# a program that uses MPI itself, and gives a communicator
"$mpicc" -std=c11 -I"$WEFT_SOURCE/include" "$WEFT_SOURCE/tests/mpi/own.c" -o "$work/own" -L"$build" -lweft \
    -Wl,-rpath,"$build" > "$work/out" 2>&1 || die 'tests/mpi/own.c does not compile'
WEFT_MPI=$other launch 4 "$work/own" || die 'a program that uses MPI itself'

# the example prints the same with any number of ranks, which are threads without a launcher
if [ -x "$build/examples/32_distributed" ]; then
    "$build/examples/32_distributed" > "$work/alone" 2> "$work/out" || die 'example 32 without a launcher'
    launch 3 "$build/examples/32_distributed" || die 'example 32 on 3 ranks'
    cmp "$work/alone" "$work/out" || die "example 32 prints something else on 3 ranks"
fi

# failures end the job
fails '' 3 "$program" die
fails 'the test aborts' 3 "$program" abort
WEFT_MPI_TIMEOUT=1 fails \
    'on rank .* of 3: nothing came for 1 s of waiting for a message of [04] bytes from rank' 3 "$program" hang
WEFT_MPI_TIMEOUT=x fails 'WEFT_MPI_TIMEOUT is no number of seconds' 2 "$program" size 2
WEFT_MPI=none fails 'WEFT_MPI is none' 2 "$program" size 2
WEFT_MPI=/no/such.so fails 'no library for MPI was found \(/no/such.so: ' 2 "$program" size 2
WEFT_MPI=$build/libweft.so fails 'libweft.so is no library of Weft for MPI' 2 "$program" size 2
if [ -e "$build/libweft_mpi-$other.so" ]; then
    WEFT_MPI=$other fails "launcher of $title has started 2 ranks .*$other_title.* sees 1: .*WEFT_MPI=$kind" \
        2 "$program" size 2
else
    echo "the other MPI, $other, is not installed: a wrong launcher is not tried"
fi

# the tool
launch 3 "$WEFT" info --mpi || die 'weft info --mpi'
grep -qE "^MPI +$title .*, 3 ranks\$" "$work/out" || die 'weft info --mpi: no library'
grep -qE '^ranks +0 to 2: ' "$work/out" || die 'weft info --mpi: no hosts'
grep -qE "^search +$title: its launcher has set " "$work/out" || die 'weft info --mpi: not how it was found'
grep -qE '^search .*MPI_THREAD_[A-Z]+ granted$' "$work/out" || die 'weft info --mpi: no thread level'
[ "$(grep -c '^MPI ' "$work/out")" = 1 ] || die 'weft info --mpi: several ranks print'
! "$WEFT" info --mpi x.mrc > "$work/out" 2>&1 || die 'weft info --mpi takes a file'
! WEFT_MPI=none "$WEFT" info --mpi > "$work/out" 2>&1 || die 'weft info --mpi without MPI succeeds'

cd "$work"
"$WEFT" calc 'sin(x*0.3 + y*y*0.01) + z*0.125 + (x == 7 && y == 3 ? nan : 0.0)' --shape 24,64,41 --pixel 1.5 -o volume.mrc
"$WEFT" calc 'x + 2*y' --shape 41,3 -o small.npy
# Where both MPIs are installed, each computes every second text.
few='2 3' # numbers of ranks; ranks of MPICH spin while they wait for a core
[ "$kind" = openmpi ] || few=3
turn=0
[ "$kind" = openmpi ] || turn=1
compute() { # compute FILE TEXT ARGUMENTS...: ranks write the file that one process writes
    local file=$1 text=$2
    shift 2
    turn=$((turn + 1))
    if [ $((turn % 2)) = 0 ] && [ -e "$build/libweft_mpi-$other.so" ]; then return; fi
    rm -rf "alone-$file"
    "$WEFT" calc "$text" a=volume.mrc "$@" -o "alone-$file" > "$work/out" 2>&1 || die "$text: one process"
    for n in $few; do
        launch "$n" "$WEFT" calc "$text" a=volume.mrc "$@" -o "$file" || die "$text: $n ranks"
        diff -r "alone-$file" "$file" || die "$text: another file with $n ranks"
        ! grep -v '^weft: warning: ' "$work/out" || die "$text: ranks print"
        rm -r "$file"
    done
}
compute out.mrc 'out = gain * a[z, y+1, x-2; mirror] - a' gain=1.25
compute out.mrc 's = isnan(a) ? 0.0 : a; n = (s - mean(s)) / std(s)
                out = (n[z-1, y, x; clamp] + n + n[z+1, y, x; reflect]) / 3'
compute out.npy 'out = a + k[x, 1]' k=small.npy --shape 24,64,41
compute out.npy 'max(a; 0, 1)'
compute out.npy 's = isnan(a) ? 0.0 : a; out = log(1 + abs(fftshift(fft(s - mean(s)))))'
compute out.npy 's = isnan(a) ? 0.0 : a; out = cumsum(s; 0) + cumsum(s; -1)'
compute out.npy 's = isnan(a) ? 0.0 : a; out = lowpass(s, 0.2, 0.05) - gaussian_filter(s, 2)'
compute out.npy 's = isnan(a) ? 0.0 : a; out = s - median(s) + sort(s; 0) + dct(s; -1) + rotate(spline_filter(s), 10)'
compute out.npy 's = isnan(a) ? 0.0 : a; out = bin(s, 2) + median(bin(s, 2); 0)'
compute out.npy 'global i32 h[40] = 0; h[clamp(i64(a * 8) + 10, 0, 39)]++'
compute out.npy 's = isnan(a) ? 0.0 : a; global f32 h[9] = 0; h[clamp(i64(s * 2), 0, 8)] += s * 1.1f'
compute out.npy 'scale(a, 1.5)'
compute out.npy 'f32 s = 0; for (int k = -2; k <= 2; k++) s += isnan(a[z + k, y, x]) ? 0 : a[z + k, y, x]; out = s / 5'
compute out.npy 's = isnan(a) ? 0.0 : a; out = s[i64(9 * s), y, x; mirror] + s[z, i64(s * 9), i64(s * 5); clamp]'
compute out.npy 'out[y, x] = a[y, x, 3]' --shape 24,64
compute out.npy 'out[y, x] = a[x, y, 3] - a[5, y, x; clamp]' --shape 64,24
compute out.npy 'f32 s = 0; for (int k = 0; k < 41; k++) s += a[y, x, k] > 0 ? 1 : 0; out = s' --shape 24,64
compute out.npy 's = isnan(a) ? 0.0 : a; n = s - mean(s); if (n[x, 5, 7] > 0) out = n[x, 5, 7]; else out = x' --shape 24
compute out.npy 'out = a * (i0 + 1)' --shape 2,24,64,41
compute out.npy 'out[i0, z, y, x] = a[z, y, 0] * x + i0' --shape 3,24,2,5
compute out.npy 's = isnan(a) ? 0.0 : a; out = whiten(s)'
compute out.npy 's = isnan(a) ? 0.0 : a; out = radial_power(s)'
compute out.mrc.gz 'u8(a * 10 + 100)'
"$WEFT" calc 'i16(x + 3*y + 100*z)' --shape 5,384,256 -o in.zarr # 1 x 3 x 2 chunks
"$WEFT" convert in.zarr packed.zarr --deflate
compute out.zarr 'b = w*2' w=in.zarr
compute out.zarr 'out = w - p + median(p; 1) + cumsum(p; -1)' w=in.zarr p=packed.zarr
compute out.ome.zarr 'out = p[z, y-1, x; clamp] * 0.5f + p[z, y, x+1; mirror]' p=packed.zarr --shape 5,384,256
for text in 'count(a > 0.5)' 'a * 2' 'max(isnan(a) ? 0.0 : a)'; do
    "$WEFT" calc "$text" a=volume.mrc > alone.out 2> /dev/null || die "$text: one process"
    launch 3 "$WEFT" calc "$text" a=volume.mrc || die "$text: 3 ranks"
    grep -v '^weft: warning: ' "$work/out" | cmp - alone.out || die "$text: prints another text"
done
printf x > packed.zarr/c.0.1.0 # of the rows of rank 1 alone
fails '^weft: .*rank 1: .*packed.zarr/c.0.1.0' 3 "$WEFT" calc 'p * 2' p=packed.zarr -o never.zarr
[ ! -e never.zarr ] || die 'a chunk that cannot be read: there is a store'
[ -z "$(find . -name '.weft-*')" ] || die 'a store that failed left a folder'
fails '^weft: .*no-such.mrc' 2 "$WEFT" calc 'a + 1' a=no-such.mrc -o never.mrc
[ "$(grep '^weft: ' "$work/out" | grep -vc warning)" = 1 ] || die 'a missing file: several ranks print'
fails '^weft: .*the index varies in a loop' 2 "$WEFT" calc \
    'int p = 3; for (int k = 0; k < 4; k++) p = int(a[p, y, x; clamp]); out = p' a=volume.mrc -o never.npy
fails 'chunk and --memory are for one process' 2 "$WEFT" calc 'a + 1' a=volume.mrc --chunk 2 -o never.mrc
[ ! -e never.mrc ] && [ ! -e never.npy ] || die 'a refused command left a file'
launch 2 bash -c '"$0" calc "a + 1" a=volume.mrc --alone -o "own-$$.mrc"' "$WEFT" || die 'weft calc --alone'
[ "$(find . -name 'own-*.mrc' | wc -l)" = 2 ] || die 'weft calc --alone: not one file for each process'
fails 'the command line is another one than that of rank 0' 2 \
    bash -c '"$0" calc "a + 1" a=volume.mrc -o "own-$$.mrc"' "$WEFT"

# a process that asks for no ranks looks for no MPI
searches() { LD_DEBUG=libs,files "$WEFT" info "$@" 2>&1 | grep -c 'libmpi\|libweft_mpi' || true; }
[ "$(searches --mpi)" != 0 ] || die 'LD_DEBUG shows no search for an MPI'
[ "$(searches)" = 0 ] || die 'weft info without --mpi looks for an MPI'
LD_DEBUG=libs,files "$WEFT" calc 'a + 1' a=volume.mrc > "$work/out" 2>&1
! grep -q 'libmpi\|libweft_mpi' "$work/out" || die 'weft calc without ranks looks for an MPI'
ldd "$build/libweft.so" > "$work/out"
! grep -qi mpi "$work/out" || die 'libweft.so links an MPI'
echo ok
