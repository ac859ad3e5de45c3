# Distributed arrays from Python over a real MPI: python.sh KIND BUILD MPICC, as run.sh. The interpreter is WEFT_PYTHON,
# else the first one of CPython 3.11 or later that has NumPy; without one the test is skipped (77), and says so.
set -eu
kind=$1 build=$2 mpicc=${3-}
. "$(dirname "$0")/launch.sh"

[ -e "$build/python/weft/_weft.abi3.so" ] || skip "the Python package was not built"
python=
for candidate in ${WEFT_PYTHON:+"$WEFT_PYTHON"} python3 /usr/bin/python3; do
    if "$candidate" -c 'import sys, numpy; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then
        python=$candidate
        break
    fi
done
[ -n "$python" ] || skip "no CPython 3.11 or later has NumPy"
export PYTHONPATH=$build/python PYTHONDONTWRITEBYTECODE=1
program=$WEFT_SOURCE/tests/mpi/program.py

"$python" "$program" "$work" > "$work/out" 2>&1 || die 'without a launcher'
numbers='1 2 4' # of ranks; those of MPICH spin while they wait for a core
[ "$kind" = openmpi ] || numbers='1 3'
for n in $numbers; do
    mkdir "$work/$n"
    launch $n "$python" "$program" "$work/$n" || die "$n ranks"
    [ "$(grep -o "checked by rank" "$work/out" | wc -l)" = "$n" ] || die "$n ranks: not all have checked"
done
launch 3 "$python" "$program" "$work" size || die 'ranks that use no arrays'
grep -q 'rank 2 of 3' "$work/out" || die 'the number of ranks'

# failures end the job
fails "KeyError: 'the last rank fails'" 3 "$python" "$program" "$work" raise
fails 'rank 0 ends all' 3 "$python" "$program" "$work" abort
fails 'BackendError: .* on rank 0 of 3: nothing came for 0.5 s' 3 "$python" "$program" "$work" wait
WEFT_MPI=none fails 'UnsupportedError: .*WEFT_MPI is none' 2 "$python" "$program" "$work" size
if [ "$kind" = openmpi ]; then other=mpich; else other=openmpi; fi
if [ -e "$build/libweft_mpi-$other.so" ]; then
    WEFT_MPI=$other fails 'UnsupportedError: .*launcher of .* has started 2 ranks .*sees 1: .*WEFT_MPI=' \
        2 "$python" "$program" "$work" size
else
    echo "the other MPI, $other, is not installed: a wrong launcher is not tried"
fi

# the example of docs/python.md prints the same with any number of ranks
sed -n '/^# diffusion.py$/,/^```$/p' "$WEFT_SOURCE/docs/python.md" | grep -v '^```$' > "$work/diffusion.py"
cd "$work"
"$python" diffusion.py > alone 2> "$work/out" || die 'the example without a launcher'
cp heat.npy alone.npy
launch 3 "$python" diffusion.py || die 'the example on 3 ranks'
cmp alone.npy heat.npy || die 'the example writes another file on 3 ranks'
grep -qxF "$(cat alone)" "$work/out" || die 'the example prints something else on 3 ranks'
echo ok
