# ctest: long
#
# Documents: every command of docs/cli.md and every text of docs/text.md works. docs/guide.md begins with the first
# example, its derivatives are those of another one, and all other C in README.md, docs/guide.md, docs/gpu.md and docs/reference compiles. The reference has a
# section for every function and macro, and comments of headers are short. Pages name every environment variable, and
# weft.hpp has every function. Files and internal names in CONTRIBUTING.md exist. Tables of functions, file formats and
# border modes are complete.
. "$(dirname "$0")/lib.bash" || exit 1

block() { # block LANGUAGE FILE: the contents of all such code blocks
    awk -v open="^\`\`\`$1\$" '/^```/ { inside = $0 ~ open; next } inside' "$2"
}

weft() { "$WEFT" "$@"; }
block sh "$WEFT_SOURCE/docs/cli.md" | sed '/weft bench/s/--count [0-9]*/--count 100000/' > commands # less, for the interpreter
[ "$(grep -c '^weft' commands)" -gt 15 ] || die 'no commands found in docs/cli.md'
. ./commands > /dev/null 2> errors || die "docs/cli.md: $(cat errors)"
! grep -qv -e '^weft: warning' -e '^weft each: [0-9]* done' errors || die "docs/cli.md: $(cat errors)"
for file in micrograph.png slices.png gradient.tif mask.png dark.npy scaled.mrc disc.npy; do
    [ -s "$file" ] || die "docs/cli.md: no $file"
done

block sh "$WEFT_SOURCE/README.md" > commands
[ "$(grep -c '^weft' commands)" -gt 3 ] || die 'no commands found in README.md'
. ./commands > /dev/null 2> errors || die "README.md: $(cat errors)"
! grep -qv '^weft: warning' errors || die "README.md: $(cat errors)"
[ -s edges.png ] && [ -s smooth.mrc ] || die 'README.md: no edges.png or smooth.mrc'

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
# the table of passes is that of src/plan/passes.c, and docs/measurements is what bench/results has
"$WEFT_SOURCE/tools/pages" --check > difference || die "$(cat difference)"
# docs/guide.md shows the first example word for word
awk '/^```/ { inside = $0 == "```c" && !n++; next } inside' "$WEFT_SOURCE/docs/guide.md" > first.c
sed 1d "$WEFT_SOURCE/examples/00_first.c" | cmp - first.c || die 'docs/guide.md: not examples/00_first.c'
# the section on derivatives shows pieces of an example word for word, but for the indentation
sed 's/^ *//' "$WEFT_SOURCE/examples/30_derivatives.c" > example.c
awk '/^## / { here = $0 == "## Derivatives" } /^```/ { inside = $0 == "```c"; n += inside; next }
     $0 == "..." { ++n; next } inside && here { sub(/^ */, ""); print > ("derivative" n ".c") }' "$WEFT_SOURCE/docs/guide.md"
pieces=0
for piece in derivative*.c; do
    example=$(cat example.c) shown=$(cat "$piece")
    [[ $example == *"$shown"* ]] || die "docs/guide.md: not in examples/30_derivatives.c: $shown"
    pieces=$((pieces + 1))
done
[ "$pieces" -ge 8 ] || die 'docs/guide.md: no section on derivatives'
# other C: bodies of functions. before.h declares the names that the text explains; lines with ... are left out.
cat > before.h << 'END'
#include <math.h>
#include <stdio.h>
#include <weft/dist.h>
#include <weft/distributed.h>
#include <weft/each.h>
#include <weft/fft.h>
#include <weft/functions.h>
#include <weft/io.h>
#include <weft/linalg.h>
#include <weft/optimize.h>
#include <weft/project.h>
#include <weft/ranks.h>
#include <weft/signal.h>
#include <weft/star.h>
#include <weft/traced.h>
#include <weft/xform.h>
extern wf_context *ctx;
extern wf_graph *g;
extern wf_array *a, *b, *count, *da, *img, *lines, *mean, *out, *start, *top;
extern wf_val i, j, material, x, y;
extern wf_var n;
extern int64_t h, w, mine;
extern wf_look look;
extern wf_ranks *ranks;
extern void *cuda_stream, *device_pointer, *owner;
void give_back(void *user);
END
if command -v cc > cc.path; then
    for page in README docs/guide docs/gpu $(cd "$WEFT_SOURCE" && ls docs/reference/*.md); do
        page=${page%.md}
        name=${page//\//.}
        awk -v name="$name" '/^```/ { inside = $0 == "```c"; n += inside; next } inside { print > (name "." n) }' \
            "$WEFT_SOURCE/$page.md"
        for c in "$name".*; do
            [ -e "$c" ] || continue
            { echo '#include "before.h"'; grep '^static ' "$c" || true; echo 'void shown(void) {'
                grep -v -e '^static ' -e '\.\.\.' "$c"; echo '}'; } > block.c
            ! grep -q '^int main' "$c" || cp "$c" block.c
            cc -std=c11 -fsyntax-only -Werror=implicit-function-declaration -Werror=incompatible-pointer-types \
                -I. -I"$WEFT_SOURCE/include" block.c 2> errors || die "$page.md, block ${c##*.} of C: $(cat errors)"
        done
    done
fi
# the reference: a section, or a row of a table of operations, for each function and macro
reference="$WEFT_SOURCE/docs/reference"
cat "$reference"/*.md | sed -nE 's/^## //p; s/^\| `(wf_[a-z0-9_]+)\(.*/\1/p' | tr -c 'A-Za-z0-9_' '\n' | sort -u > sections
{
    cat "$WEFT_SOURCE/tools/exported_symbols.txt"
    sed -nE 's/^#define ((wf_[a-z]|WF_[A-Z])[A-Za-z0-9_]*).*/\1/p' "$WEFT_SOURCE"/include/weft/*.h | grep -v '_H$'
} | sort -u > public
[ "$(grep -c . public)" -gt 300 ] || die 'no public functions found'
missing=$(comm -23 public sections)
[ -z "$missing" ] || die "docs/reference has no section for: $missing"
for header in "$WEFT_SOURCE"/include/weft/*.h; do
    page=$(basename "$header" .h)
    [ -s "$reference/$page.md" ] || die "docs/reference/$page.md: no page of the header"
    awk '/\/\*/ && !inside { inside = 1; n = 0 } inside { ++n } /\*\// { if (inside && n > 6) exit 1; inside = 0 }' \
        "$header" || die "include/weft/$page.h: a comment of more than six lines; docs/reference/$page.md has room"
done
# a page names every environment variable that the library, the tool and the tests read
variables() { (cd "$WEFT_SOURCE" && grep -rhoE '"WEFT_[A-Z_]+"' --include='*.[ch]' "$@") | tr -d '"' | sort -u; }
variables src emu cli > for_users
variables tests fuzz bench examples > for_tests
[ "$(grep -c . for_users)" -gt 10 ] || die 'no environment variables found'
while read -r v; do
    grep -qw "$v" "$WEFT_SOURCE/docs/environment.md" || die "docs/environment.md does not name $v"
done < for_users
while read -r v; do
    grep -qw "$v" "$WEFT_SOURCE/docs/environment.md" "$WEFT_SOURCE/CONTRIBUTING.md" ||
        die "CONTRIBUTING.md does not name $v"
done < for_tests
# every file and internal name that CONTRIBUTING.md has in quotes exists; * and <x> stand for any text
(cd "$WEFT_SOURCE" && find . \( -path './build*' -o -path ./.git \) -prune -o -print) > tree
awk '/^```/ { inside = !inside; next } !inside' "$WEFT_SOURCE/CONTRIBUTING.md" | tr -s '\n ' ' ' > prose
grep -oE '`[^`]*`' prose | tr '` ' '\n' | sort -u > words
grep -E '/|[a-z]\.(c|h|def|hpp|py)$' words | grep -vE '=|^build|^/' > paths
grep -E '^wf__[a-z0-9_]*[a-z0-9]$' words > internal
[ "$(grep -c . paths)" -gt 80 ] && [ "$(grep -c . internal)" -gt 10 ] || die 'CONTRIBUTING.md: no names found'
while read -r path; do
    pattern=$(sed 's/\./\\./g; s/\*/.*/g; s/<[a-z]*>/.*/g; s|/$||' <<< "$path")
    grep -qE "/$pattern\$" tree || die "CONTRIBUTING.md names $path, which does not exist"
done < paths
while read -r name; do
    grep -rqw "$name" "$WEFT_SOURCE/src" || die "CONTRIBUTING.md names $name, which does not exist"
done < internal
grep -oE '`[a-z_0-9]+` in `[^` *<]+\.[a-z]+`' prose | tr -d '`' | sed 's/ in / /' > places
[ "$(grep -c . places)" -gt 10 ] || die 'CONTRIBUTING.md: no places found'
while read -r name path; do
    (cd "$WEFT_SOURCE" && grep "/$path\$" "$OLDPWD/tree" | xargs grep -qw -- "$name") ||
        die "CONTRIBUTING.md: there is no $name in $path"
done < places
# docs/text.md names all functions of the op table, and no others
sed -n '/^## Functions$/,/^Angles/p' "$WEFT_SOURCE/docs/text.md" > functions
for f in $(grep -oE '`[^`]*`' functions | tr -d '`' | tr ' ' '\n' | grep -E '^[a-z0-9_]+$' | sort -u); do
    weft calc "$f()" 2> err || true
    grep -q "takes [0-9] argument" err || die "docs/text.md: there is no function $f: $(cat err)"
done
table=$(sed -nE 's/^WF_API wf_val wf_([a-z0-9_]+)\(wf_val.*/\1/p' "$WEFT_SOURCE/include/weft/ops.h")
for f in $table; do
    grep -qw "$f" functions || [ "$f" = cast ] || [ "$f" = bitcast ] || die "docs/text.md does not name $f"
    grep -qw "wf_$f" "$WEFT_SOURCE/include/weft/weft.hpp" || die "weft.hpp does not have $f"
done
# docs/text.md names all functions of the libraries
sed -n '/^## Functions of the libraries/,/^## Errors/p' "$WEFT_SOURCE/docs/text.md" > library_functions
sed -nE 's/^FUNCTION\(([a-z_]+),.*/\1/p' "$WEFT_SOURCE/src/text/library.def" > names
[ "$(grep -c . names)" -gt 30 ] || die 'no functions found in library.def'
while read -r f; do
    grep -q "\`$f(" library_functions || die "docs/text.md does not name $f"
done < names
# tools/ulp.c and docs/accuracy.md have every function that tests/test_math.c has an error bound for
sed -nE 's/^ *\[WF__OP_([a-z0-9_]+)\] = \{ .*\.bound = .*/\1/p' "$WEFT_SOURCE/tests/test_math.c" > functions
[ "$(grep -c . functions)" -gt 40 ] || die 'no functions found in tests/test_math.c'
while read -r f; do
    grep -q "{ \"$f\", " "$WEFT_SOURCE/tools/ulp.c" || die "tools/ulp.c has no row for $f"
    for dtype in f32 f64; do
        grep -q "^| $f | $dtype |" "$WEFT_SOURCE/docs/accuracy.md" ||
            die "docs/accuracy.md has no row for $f of $dtype: build/ulp --markdown $f"
    done
done < functions
# what lists file formats or border modes lists all of them
every() { # every WHAT COUNT PAGE...: each line of the file "names", which has at least COUNT, is a word of each page
    local what=$1 page
    [ "$(grep -c . names)" -ge "$2" ] || die "no names of a $what found"
    for page in "${@:3}"; do
        while read -r name; do
            grep -qw "$name" "$page" || die "${page#"$WEFT_SOURCE"/} does not name the $what $name"
        done < names
    done
}
weft help > help 2>&1
weft help calc > help.calc 2>&1
cat "$WEFT_SOURCE"/src/lib/io/*.c | sed -nE 's/.*\.name = "([A-Z]+)",$/\1/p' > names
every 'file format' 4 help help.calc "$WEFT_SOURCE"/{README.md,include/weft/io.h,docs/cli.md,docs/reference/io.md,cli/weft.1}
sed -nE 's/^ *X\(WF_BORDER_[A-Z]+, "([a-z]+)"\).*/\1/p' "$WEFT_SOURCE/src/text/text.h" > names
mkdir docs
sed -n '/^## Neighbours/,/^## Programs/p' "$WEFT_SOURCE/docs/text.md" > docs/text.md
every 'border mode' 4 help.calc docs/text.md
sed -nE 's/^ *(WF_BORDER_[A-Z]+).*/\1/p' "$WEFT_SOURCE/include/weft/record.h" > names
every 'border mode' 6 "$WEFT_SOURCE/docs/reference/record.md"
echo ok
