# ctest: failures
#
# Outputs and caches under attack: processes killed while they write, full disks; cache folders that are damaged, of
# another user, open to all, or changed while they are used. Results are right, old files stay whole, nothing is left.
#
# WEFT_TEST_ROUNDS=N repeats everything N times (default 1), and says how much was tried.
. "$(dirname "$0")/lib.bash" || exit 1
rounds=${WEFT_TEST_ROUNDS:-1}
runs=0 killed=0 refused=0
RANDOM=1
root=false
[ "$(id -u)" != 0 ] || root=true

# --- outputs: a process is killed while it replaces a file
for value in 1 2; do "$WEFT" calc "$value + 0*f32(x)" --shape 300,300 -o "is$value.npy"; done
whole() { # whole FILE: it holds nothing but ones or nothing but twos
    local low high
    low=$(json_value min "$1") && high=$(json_value max "$1") && [ "$low" = "$high" ] &&
        { [ "$low" = 1 ] || [ "$low" = 2 ]; } || die "$1 is neither the old file nor the new one"
}
kill_writers() { # kill_writers FOLDER COUNT
    local i file
    for file in out.npy out.mrc out.tif; do
        "$WEFT" calc a a=is1.npy -o "$1/$file"
        for ((i = 0; i < $2; i++)); do
            "$WEFT" calc a "a=is$((i % 2 + 1)).npy" -o "$1/$file" &
            sleep "0.00$((RANDOM % 10))"
            if kill -9 $! 2> /dev/null; then killed=$((killed + 1)); fi
            wait $! 2> /dev/null || true
            whole "$1/$file"
        done
        "$WEFT" calc a a=is1.npy -o "$1/$file"
        [ -z "$(find "$1" -name '.weft-*')" ] || die "left behind: $(ls -A "$1")"
    done
}
mkdir outputs
kill_writers outputs $((3 * rounds))

# --- outputs: a full disk, which only root can make
mkdir disk
if $root && mount -t tmpfs -o size=256k none disk 2> /dev/null; then
    trap 'umount "$work/disk"; rm -rf "$work"' EXIT
    for file in out.npy out.mrc out.tif; do
        "$WEFT" calc a a=is1.npy --dtype u8 -o "disk/$file" 2> /dev/null ||
            "$WEFT" calc a a=is1.npy --dtype u16 -o "disk/$file" || die "no room for $file"
        cp "disk/$file" old
        for ((i = 0; i < rounds; i++)); do
            refuses 1 "disk/$file: cannot write: no space left on device" "$WEFT" calc a a=is2.npy --dtype f32 -o "disk/$file"
            cmp old "disk/$file" || die "a full disk changed $file"
            refused=$((refused + 1))
        done
        [ -z "$(find disk -name '.weft-*')" ] || die "a full disk: left behind: $(ls -A disk)"
        rm "disk/$file"
    done
    umount disk
    trap 'rm -rf "$work"' EXIT
fi

# --- caches: every run gives the values of the interpreter
texts=('sum(sqrt(f32(x)))' 'max(x*y - 3*x)' 'f32 s = 0; for (int k = 0; k < 9; k++) s += k*x; out = s' 'min(exp(-0.1*y) + x)'
    'sum(x ^ y)' 'sum(f64(x)/(y + 1.5))')
want=()
for text in "${texts[@]}"; do want+=("$(WEFT_CACHE=$work/none "$WEFT" calc "$text" --shape 5,7 --device interp)"); done
check() { # check CACHE SAYING: all texts, with this cache
    local i got
    for i in "${!texts[@]}"; do
        got=$(WEFT_CACHE=$1 WEFT_TIERED=$((RANDOM % 2)) timeout 60 "$WEFT" calc "${texts[i]}" --shape 5,7 2> err) ||
            die "$2: ${texts[i]}: exit code $?: $(cat err)"
        [ "$got" = "${want[i]}" ] || die "$2: ${texts[i]}: $got instead of ${want[i]}"
        runs=$((runs + 1))
    done
}
damage() { # damage FILE HOW
    local size=$(($(stat -c %s "$1") + 0))
    case $2 in
    0) printf "\\x$(printf %02x $((RANDOM % 256)))" | dd of="$1" bs=1 seek=$((RANDOM % size)) conv=notrunc status=none ;;
    1) truncate -s $((RANDOM % size)) "$1" ;;
    2) head -c 100 /dev/urandom >> "$1" ;;
    3) : > "$1" ;;
    4) rm "$1" && mkdir "$1" ;;
    5) rm "$1" && mkfifo "$1" ;;
    6) rm "$1" && ln -s /dev/zero "$1" ;;
    7) rm "$1" && ln -s "$1" "$1" ;;
    8) cp "$(find "${1%/*}" -type f -name '*.weft' | sort | head -n 1)" "$1.new" && mv "$1.new" "$1" ;;
    9) chmod 666 "$1" ;;
    10) if $root; then chown 65534 "$1"; else chmod 000 "$1"; fi ;;
    esac
}
for ((round = 0; round < rounds; round++)); do
    rm -rf cache
    check "$work/cache" 'an empty cache'
    if [ ! -d cache ]; then # nothing is compiled here
        echo "ok: $killed processes killed, $refused writes on a full disk"
        exit 0
    fi
    check "$work/cache" 'a full cache'
    for how in 0 0 1 2 3 4 5 6 7 8 9 10; do
        for file in cache/*.weft; do
            if [ -f "$file" ] && [ ! -L "$file" ] && [ -s "$file" ]; then damage "$file" "$how"; fi
        done
        check "$work/cache" "damage $how"
        find cache ! -type f ! -name cache -delete
        if ! $root; then chmod -f 600 cache/* || true; fi
    done
    chmod 777 cache
    check "$work/cache" 'a cache that all may write'
    if $root; then
        chown -R 65534 cache
        check "$work/cache" 'a cache of another user'
    fi
    # the folder vanishes, comes back as another thing, loses its permissions
    (while [ ! -e stop ]; do
        mv cache away && : > cache && rm cache && ln -s /nonexistent cache && rm cache && mv away cache
        chmod 000 cache && chmod 777 cache && rm -f cache/*.weft
    done) 2> /dev/null &
    changer=$!
    for ((i = 0; i < 3; i++)); do check "$work/cache" 'a cache that changes'; done
    : > stop
    wait "$changer" || true
    rm -rf stop away cache
    # The thread sanitizer writes a file of its own when a program begins.
    if (ulimit -f 0 && "$WEFT" --version) > /dev/null 2>&1; then
        (ulimit -f 0 && check "$work/cache" 'a cache without room') || die 'a cache without room'
    fi
done

# --- caches: 8 processes on one folder, most of which are killed
mkdir -p cache
for ((round = 0; round < 4 * rounds; round++)); do
    pids=()
    for ((i = 0; i < 8; i++)); do
        k=$((RANDOM % ${#texts[@]}))
        WEFT_CACHE=$work/cache "$WEFT" calc "${texts[k]}" --shape 5,7 > "one.$i" 2> "one.$i.err" &
        pids+=($!)
        text[i]=$k
    done
    sleep "0.0$((RANDOM % 10))"
    for ((i = 0; i < 6; i++)); do if kill -9 "${pids[i]}" 2> /dev/null; then killed=$((killed + 1)); fi; done
    for ((i = 0; i < 8; i++)); do
        status=0
        wait "${pids[i]}" 2> /dev/null || status=$?
        runs=$((runs + 1))
        [ "$status" = 137 ] || { [ "$status" = 0 ] && [ "$(cat "one.$i")" = "${want[text[i]]}" ]; } ||
            die "8 processes: exit code $status, $(cat "one.$i" "one.$i.err")"
    done
    if ((RANDOM % 8 == 0)); then rm -f cache/*.weft; fi
done
check "$work/cache" 'the cache of 8 processes'
echo "$runs runs with a cache, $killed processes killed, $refused writes on a full disk"
echo ok
