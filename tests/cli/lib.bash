# Sourced by the tests of the tool, which run as WEFT=build/weft tests/cli/calc.sh in a temporary folder.
set -eu
WEFT=$(realpath "${WEFT:?the path of the tool}")
WEFT_SOURCE=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/weft-cli-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"

die() {
    echo "FAILED: $*" >&2
    exit 1
}

# prints EXPECTED COMMAND...: the command succeeds and prints exactly EXPECTED
prints() {
    local expected=$1 got
    shift
    got=$("$@") || die "$* (exit code $?)"
    [ "$got" = "$expected" ] || die "$*: printed '$got', expected '$expected'"
}

# near EXPECTED COMMAND...: the command prints the number EXPECTED, to 6 digits
near() {
    local expected=$1 got
    shift
    got=$("$@") || die "$* (exit code $?)"
    awk -v a="$got" -v b="$expected" 'function abs(v) { return v < 0 ? -v : v }
        BEGIN { exit !(abs(a - b) <= 1e-6 * (abs(b) > 1 ? abs(b) : 1)) }' ||
        die "$*: printed '$got', expected $expected"
}

# refuses CODE PATTERN COMMAND...: the command exits with CODE, prints nothing, and its message matches PATTERN
refuses() {
    local code=$1 pattern=$2 status=0
    shift 2
    "$@" > refused.out 2> refused.err || status=$?
    [ "$status" = "$code" ] || die "$*: exit code $status, expected $code: $(cat refused.err)"
    grep -q -e "$pattern" refused.err || die "$*: the message does not match '$pattern': $(cat refused.err)"
    [ ! -s refused.out ] || die "$*: printed on standard output although it failed"
}

# json_value NAME FILE: one value of the JSON line of `weft stats --json`
json_value() {
    "$WEFT" stats --json "$2" | sed -E "s/.*\"$1\":(\[[^]]*\]|\"[^\"]*\"|[^,}]*).*/\1/"
}
