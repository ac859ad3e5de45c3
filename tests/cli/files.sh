# Real files (EMDB maps, particle stacks) in the folder WEFT_TEST_DATA; skipped without it.
. "$(dirname "$0")/lib.bash" || exit 1
data=${WEFT_TEST_DATA-}
if [ -z "$data" ] || [ ! -e "$data/EMD-3197.map" ]; then
    echo "skipped: no real files (WEFT_TEST_DATA)"
    exit 0
fi

count=0
for file in "$data"/*.map "$data"/*.mrc "$data"/*.mrcs; do
    name=$(basename "$file")
    "$WEFT" info "$file" > /dev/null
    "$WEFT" view "$file" -o view.png
    "$WEFT" calc 'a*2 - a' a="$file" -o copy.npy
    prints 0 "$WEFT" calc 'max(a != b)' a="$file" b=copy.npy
    # statistics equal those of the copy in another format
    for value in min max mean std; do
        near "$(json_value $value "$file")" json_value $value copy.npy
    done
    "$WEFT" calc 'e = (a[x+1; clamp] - a[x-1; clamp])**2 + sin(a)' a="$file" -o cpu.npy
    "$WEFT" calc 'e = (a[x+1; clamp] - a[x-1; clamp])**2 + sin(a)' a="$file" -o interp.npy --device interp
    cmp cpu.npy interp.npy || die "$name: devices differ"
    count=$((count + 1))
done

# known shapes and kinds
"$WEFT" info "$data/EMD-3197.map" | grep -q '20 x 20 x 20 f32, volume' || die EMD-3197
"$WEFT" info "$data/surface_input.mrc" | grep -q '576 x 410 f32' || die surface_input
"$WEFT" info "$data/sample.mrcs" | grep -q '17 x 200 x 200 f32, stack' || die sample.mrcs
"$WEFT" info "$data/float16.mrc" | grep -q '64 x 64 f16' || die float16
echo "ok: $count files"
