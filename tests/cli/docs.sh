# What docs/cli.md and docs/text.md show works: every command of the one, every text of the other. docs/guide.md begins
# with an example.
. "$(dirname "$0")/lib.bash" || exit 1

block() { # block LANGUAGE FILE: the contents of all such code blocks
    awk -v open="^\`\`\`$1\$" '/^```/ { inside = $0 ~ open; next } inside' "$2"
}

weft() { "$WEFT" "$@"; }
block sh "$WEFT_SOURCE/docs/cli.md" | sed 's/--count [0-9]*/--count 100000/' > commands # less, for the interpreter
[ "$(grep -c '^weft' commands)" -gt 15 ] || die 'no commands found in docs/cli.md'
. ./commands > /dev/null 2> errors || die "docs/cli.md: $(cat errors)"
! grep -qv '^weft: warning' errors || die "docs/cli.md: $(cat errors)"
for file in micrograph.png slices.png gradient.tif mask.png dark.npy scaled.mrc disc.npy; do
    [ -s "$file" ] || die "docs/cli.md: no $file"
done

weft calc '0.37*x - sin(y)' --shape 12,16 -o a.npy
weft calc '1.0 + x % 3' --shape 12,16 -o b.npy
weft calc '(x * 7 + y * 13) % 256' --shape 12,16 --dtype u8 -o m.png
weft calc '1.0*x + y*z' --shape 4,12,16 -o v.npy
block weft "$WEFT_SOURCE/docs/text.md" > texts
[ "$(grep -c . texts)" -gt 10 ] || die 'no texts found in docs/text.md'
while IFS= read -r text; do
    arguments="a=a.npy b=b.npy m=m.png gain=2"
    case $text in *v\[* | *"mean(v;"*) arguments="v=v.npy" ;; esac
    weft calc "$text" $arguments > /dev/null || die "docs/text.md: $text"
done < texts
awk '/^```/ { inside = $0 ~ /^```weft-program$/; n += inside; next } inside { print > ("program" n) }' \
    "$WEFT_SOURCE/docs/text.md"
[ -s program3 ] || die 'no programs found in docs/text.md'
for program in program*; do
    weft calc -f "$program" a=a.npy b=b.npy > /dev/null || die "docs/text.md: $(cat "$program")"
done
# the guide shows the first example, which is built and run, as it is
awk '/^```/ { inside = $0 == "```c" && !n++; next } inside' "$WEFT_SOURCE/docs/guide.md" > first.c
sed 1d "$WEFT_SOURCE/examples/00_first.c" | cmp - first.c || die 'docs/guide.md: not examples/00_first.c'
# every function that the page names is there, and every function of the tool's table is named
sed -n '/^## Functions/,/^Angles/p' "$WEFT_SOURCE/docs/text.md" > functions
for f in $(grep -oE '`[^`]*`' functions | tr -d '`' | tr ' ' '\n' | grep -E '^[a-z0-9_]+$' | sort -u); do
    weft calc "$f()" 2> err || true
    grep -q "takes [0-9] argument" err || die "docs/text.md: there is no function $f: $(cat err)"
done
table=$(sed -nE 's/^WF_API wf_val wf_([a-z0-9_]+)\(wf_val.*/\1/p' "$WEFT_SOURCE/include/weft/ops.h")
for f in $table; do
    grep -qw "$f" functions || [ "$f" = cast ] || [ "$f" = bitcast ] || die "docs/text.md does not name $f"
done
echo ok
