# ctest: threads
#
# weft each: many files with one text, restart by the journal, bad files, names of results, mistakes of command lines.
. "$(dirname "$0")/lib.bash" || exit 1

mkdir raw out
for i in 1 2 3 4 5 6 7; do "$WEFT" sample -o "raw/m$i.mrc" --size "7$i" --seed "$i"; done
"$WEFT" calc '1 + x % 2' --shape 1,1 -o gain.npy
text='n = a*g - median(a); m = n > t'
each() { # each ARGUMENT...: with the usual text and files
    "$WEFT" each "$text" a='raw/*.mrc' g=gain.npy t=3 -o n=out/{name}.mrc -o m=out/{name}_mask.npy "$@" 2> log
}
compare() { # compare FILE...: the results are those of weft calc
    local file name
    for file in "$@"; do
        name=$(basename "$file" .mrc)
        "$WEFT" calc "$text" a="$file" g=gain.npy t=3 -o n=n.mrc -o m=m.npy
        cmp n.mrc "out/$name.mrc" && cmp m.npy "out/${name}_mask.npy" || die "$file: not the result of weft calc"
    done
}
summary() { # summary PATTERN: of the last run
    grep -q -e "^weft each: $1" log || die "the summary is not '$1': $(cat log)"
}

# every file, then nothing, then what is missing or stale, for each reason
each --jobs 3 || die "$(cat log)"
summary '7 done, 0 skipped, 0 failed in'
compare raw/*.mrc
each || die "$(cat log)"
summary '0 done, 7 skipped, 0 failed$'
rm out/m2.mrc
touch raw/m3.mrc
"$WEFT" calc a a=raw/m4.mrc -o out/m4_mask.npy
each --dry-run > plan || die "$(cat log)"
sort plan > sorted
cat > expected << 'END'
3 to do, 4 up to date
changed: output raw/m4.mrc -> out/m4.mrc out/m4_mask.npy
missing         raw/m2.mrc -> out/m2.mrc out/m2_mask.npy
stale: input    raw/m3.mrc -> out/m3.mrc out/m3_mask.npy
END
cmp expected sorted || die "$(cat plan)"
[ ! -s log ] || die "--dry-run: $(cat log)"
each || die "$(cat log)"
summary '3 done, 4 skipped, 0 failed in'
compare raw/*.mrc
touch gain.npy # an input of all
each --dry-run > plan
[ "$(grep -c '^stale: input ' plan)" = 7 ] || die "$(cat plan)"
each || die "$(cat log)"
text="$text "
each --dry-run > plan
[ "$(grep -c '^stale: text ' plan)" = 7 ] || die "$(cat plan)"
text=${text% }
each --dtype f16 --dry-run > plan
[ "$(grep -c '^stale: options ' plan)" = 7 ] || die "$(cat plan)"
"$WEFT" each "$text" a='raw/*.mrc' g=gain.npy t=4 -o n=out/{name}.mrc -o m=out/{name}_mask.npy --dry-run > plan
[ "$(grep -c '^stale: options ' plan)" = 7 ] || die "$(cat plan)"
each --again --dry-run > plan
[ "$(grep -c '^again ' plan)" = 7 ] || die "$(cat plan)"
each --again || die "$(cat log)"
summary '7 done, 0 skipped'
prints '0 to do, 7 up to date' each --dry-run
# a damaged line is skipped, and its file is done again
for journal in out/.weft-each/*.journal; do sed -i 's/out\/m5.mrc/out\/m6.mrc/' "$journal"; done
each --dry-run > plan
grep -q '^new .*raw/m5.mrc' plan && grep -q '^1 to do' plan || die "$(cat plan)"
printf 'done\tabc' >> "$journal" # torn
each --quiet || die "$(cat log)"
! grep -v '^weft: warning' log || die "--quiet: $(cat log)"

# bad files are reported and skipped
echo 'no image' > raw/m3.mrc
: > raw/m6.mrc
rm out/m1.mrc out/m7_mask.npy
status=0
each || status=$?
[ "$status" = 1 ] || die "exit code $status with bad files"
summary '2 done, 3 skipped, 2 failed'
grep -q '^weft each: raw/m3.mrc: ' log && grep -q '^weft each: raw/m6.mrc: the file is empty' log || die "$(cat log)"
[ "$(grep -c '^  failed: raw/m[36].mrc$' log)" = 2 ] || die "$(cat log)"
status=0
each --strict --jobs 1 || status=$?
[ "$status" = 1 ] || die "exit code $status with --strict"
summary '0 done, 5 skipped, 1 failed, 1 not done'
status=0
"$WEFT" each 'a - nothing' a='raw/*.mrc' -o out/{name}.mrc --jobs 1 2> log || status=$?
[ "$status" = 1 ] || die "exit code $status for a mistake in the text"
[ "$(grep -c "unknown name 'nothing'" log)" = 1 ] || die "a mistake in the text is not told once: $(cat log)"
compare raw/m[12457].mrc

# lists: a file with a path on each line, standard input, in step; names
ls raw/m1.mrc raw/m2.mrc > list
printf '\357\273\277raw/m4.mrc\n\nraw/m5.mrc\r\n' > other # a byte order mark, an empty line, an end as on Windows
mkdir -p p/q
"$WEFT" each 'sum(a) + sum(b)' a=@list b=@other -o 'p/q/{{{number}}}_{name}.{ext}.npy' --quiet
near "$("$WEFT" calc 'sum(a) + sum(b)' a=raw/m2.mrc b=raw/m5.mrc)" "$WEFT" calc a a='p/q/{2}_m2.mrc.npy'
"$WEFT" each a a=@- -o '{dir}/{name}_copy.mrc' --quiet < list
cmp <("$WEFT" calc a a=raw/m2.mrc -o c.mrc && cat c.mrc) raw/m2_copy.mrc || die 'another copy'
"$WEFT" calc a a=raw/m1.mrc -o z.mrc.gz
echo z.mrc.gz > list.gz
"$WEFT" each a a=@list.gz -o 'copy_{name}.{ext}' --quiet
gunzip -c copy_z.mrc.gz > copy && cmp <("$WEFT" calc a a=z.mrc.gz -o c.mrc && cat c.mrc) copy || die 'gzip: another copy'
"$WEFT" each 'x + a[0, 0]' a=@list --shape 3,4 -o p/{name}.npy --quiet
cmp <("$WEFT" calc 'x + a[0, 0]' a=raw/m1.mrc --shape 3,4 -o c.npy && cat c.npy) p/m1.npy || die '--shape: another result'

# as many inputs as there may be, and a shape
numbers=()
for ((i = 1; i < 64; i++)); do numbers+=("n$i=$i"); done
"$WEFT" each 'x + n63 + a[0, 0]' "${numbers[@]}" a=@list --shape 3,4 -o p/{name}_many.npy --jobs 1 --quiet
cmp <("$WEFT" calc 'x + 63 + a[0, 0]' a=raw/m2.mrc --shape 3,4 -o c.npy && cat c.npy) p/m2_many.npy || die '64 inputs'

for k in 2 0; do # results that are folders
    "$WEFT" each a a=@list -o p/{name}.zarr 2> log || die "Zarr: $(cat log)"
    grep -q "^weft each: $k done" log || die "Zarr: $(cat log)"
done
refuses 1 'p/m1.zarr: this is a folder' "$WEFT" each a+1 a=@list -o p/{name}.zarr

# refused before anything is computed
head -n 1 list > one
refuses 2 'no input is a list' "$WEFT" each a a=raw/m1.mrc -o x.mrc
refuses 2 'no names for the results' "$WEFT" each a a=@list
refuses 2 "'{nam}': there are {name}" "$WEFT" each a a=@list -o '{nam}.mrc'
refuses 1 'is the output of two items: raw/m1.mrc and raw/m2.mrc' "$WEFT" each a a=@list -o x.mrc
refuses 1 'is the output of two items' "$WEFT" each a a=@list -o ./{ext}.mrc
refuses 1 'the output of raw/m1.mrc, is an input' "$WEFT" each a a=@list -o raw/{name}.mrc
ln -s raw linked
refuses 1 'is an input' "$WEFT" each a a=@list -o linked/{name}.mrc
ln raw/m2.mrc hard_m2.mrc
refuses 1 'is an input' "$WEFT" each a a=@list -o hard_{name}.mrc
refuses 1 'gain.npy, the output of raw/m1.mrc, is an input' "$WEFT" each a*g a=@one g=gain.npy -o gain.npy
refuses 1 'of one length' "$WEFT" each a+b a=@list b='raw/*.mrc' -o {name}.npy
refuses 1 'no file has such a name' "$WEFT" each a a='raw/z*' -o {name}.npy
refuses 1 '@missing: cannot open' "$WEFT" each a a=@missing -o {name}.npy
refuses 1 '@p: cannot read' "$WEFT" each a a=@p -o {name}.npy
printf '\n\n' > empty
refuses 1 '@empty: no paths' "$WEFT" each a a=@empty -o {name}.npy
printf 'raw/m1.mrc\0raw/m2.mrc' > nul
refuses 1 '@nul: a NUL byte at offset 10' "$WEFT" each a a=@nul -o {name}.npy
refuses 1 'the folder does not exist' "$WEFT" each a a=@list -o nowhere/{name}.npy
refuses 2 'the suffix' "$WEFT" each a a=@list -o {name}.xyz
refuses 2 '--jobs 0' "$WEFT" each a a=@list -o {name}.npy --jobs 0
refuses 2 "the text assigns no 'b'" "$WEFT" each 'c = a' a=@list -o b={name}.npy
[ ! -e x.mrc ] && [ ! -e m1.npy ] || die 'a result of a command that was refused'
echo ok
