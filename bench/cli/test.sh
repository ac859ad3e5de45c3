# weft bench: rows are computed and compared, tables and drawings are made, and a tool without the program says so.
. "$(dirname "$0")/../../tests/cli/lib.bash" || exit 1

# --- rows are computed and compared
"$WEFT" bench --quick --json > rows
[ "$(grep -c '"weft_ms"' rows)" -ge 5 ] || die bench
"$WEFT" bench scatter --count 30000 --most 1000 > table
[ "$(grep -c '^ *10* ' table)" = 4 ] || die "bench scatter"
grep -q '<line .*#d62728' scatter.svg || die "scatter.svg"
"$WEFT" info scatter.png | grep -q '[0-9] x [0-9]* x 3' || die "scatter.png"
"$WEFT" bench packet --count 4000 > table
[ "$(grep -c '^ *24 ' table)" = 5 ] || die "bench packet"
grep -q '<line .*#d62728' packet.svg || die "packet.svg"
"$WEFT" info packet.png > /dev/null || die "packet.png"
refuses 2 'not a number of additions' "$WEFT" bench scatter --count no
refuses 2 '--count is an option of scatter and packet' "$WEFT" bench --count 5
refuses 2 '--python is an option of scatter and packet' "$WEFT" bench --python python3
refuses 2 '--most is an option of scatter' "$WEFT" bench packet --most 5
refuses 2 '--json: scatter and packet print tables only' "$WEFT" bench scatter --json

# --- times of another system: a stand-in for Python takes the script and prints one measurement
cat > python << 'END'
#!/bin/sh
[ -e "$1" ] && [ "$2 $3 $4" = 'scatter 1000 100' ] && echo 'version 9.8' && echo '0 2 0.25'
END
chmod +x python
"$WEFT" bench scatter --count 1000 --most 100 --python "$PWD/python" > table
grep -q '; Dr.Jit 9.8$' table && grep -q '^ *100 .* 250.00 ' table || die "bench scatter --python: $(cat table)"
refuses_table() { # refuses_table PYTHON: the table is there, and the message
    status=0
    "$WEFT" bench scatter --count 1000 --most 1 --python "$1" > table 2> err || status=$?
    [ "$status" = 1 ] && grep -q 'no Dr.Jit there, or it failed' err && grep -q '^ *1 ' table || die "--python $1"
}
refuses_table /bin/false
refuses_table /no/such/python

# --- a tool without the program beside it, as an installation has it
mkdir tree
cp "$WEFT" tree/weft
refuses 1 'there is no .*/tree/bench/weft-bench-cli. .*make bench' tree/weft bench --quick
tree/weft bench --help | grep -q '^  weft bench scatter' || die 'help without the program'
mkdir -p tree/bench/weft-bench-cli
refuses 1 'tree/bench/weft-bench-cli: ' tree/weft bench
echo ok
