# What scripts share that start programs by mpirun. Sourced with kind, build and mpicc set; without that MPI the script is
# skipped (77), and says so.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # containers
unset WEFT_MPI WEFT_MPI_TIMEOUT

skip() { echo "skipped: $*"; exit 77; }
die() { echo "FAILED: $*" >&2; cat "$work/out" >&2; exit 1; }

launcher_of() { # launcher_of KIND: the mpirun of this MPI
    local name pattern
    case $1 in openmpi) pattern='Open MPI|OpenRTE' ;; *) pattern='HYDRA|MPICH' ;; esac
    for name in "mpirun.$1" mpirun mpiexec; do
        if command -v "$name" > /dev/null && "$name" --version 2>&1 | grep -qE "$pattern"; then echo "$name"; return; fi
    done
}
launcher=$(launcher_of "$kind")
[ -n "$mpicc" ] || skip "no mpicc of $kind was found when the build was configured"
[ -n "$launcher" ] || skip "no mpirun of $kind is installed"
options=()
[ "$kind" != openmpi ] || options=(--oversubscribe)

launch() { # launch N COMMAND...: runs it; the exit status is that of the job
    local n=$1
    shift
    timeout 120 "$launcher" "${options[@]}" -n "$n" "$@" > "$work/out" 2>&1
}
fails() { # fails PATTERN N COMMAND...: the job fails, within the time, and prints this
    local pattern=$1 status=0
    shift
    launch "$@" || status=$?
    [ "$status" != 0 ] && [ "$status" != 124 ] || die "$*: exit status $status"
    grep -qE "$pattern" "$work/out" || die "$*: the message does not match '$pattern'"
}
