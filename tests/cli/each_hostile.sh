# ctest: threads failures
#
# weft each under attack: commands and workers killed at random, interrupted, several commands on one folder, full and
# read-only disks. Results are those of weft calc, and only what was in work is computed again.
#
# WEFT_TEST_ROUNDS=N repeats everything N times (default 1), and says how much was tried.
. "$(dirname "$0")/lib.bash" || exit 1
rounds=${WEFT_TEST_ROUNDS:-1}
killed=0 shared=0
RANDOM=1
files=60
jobs=3

mkdir raw out want
"$WEFT" sample -o stack.mrcs --stack $files --box 64
for ((i = 0; i < files; i++)); do "$WEFT" calc "a[$i, y, x]" a=stack.mrcs --shape 64,64 -o "raw/m$i.mrc"; done
# some milliseconds for each file
text='f32 s = a; for (int k = 0; k < 3000; k++) s = sqrt(s*s + 0.1); out = s'
each() { # each ARGUMENT...: the command, which takes the place of this shell
    exec "$WEFT" each "$text" a='raw/*.mrc' -o out/{name}.mrc --jobs $jobs "$@"
}
(cd want && "$WEFT" each "$text" a='../raw/*.mrc' -o {name}.mrc --jobs 1 --quiet) # --jobs 1: no two at once
for i in 0 7 59; do
    "$WEFT" calc "$text" a="raw/m$i.mrc" -o one.mrc
    cmp one.mrc "want/m$i.mrc" || die "m$i.mrc: not the result of weft calc"
done
whole() { # whole WHAT: every result that is there is right, and nothing else is there
    local file
    for file in out/*.mrc; do
        [ ! -e "$file" ] || cmp "$file" "want/${file#out/}" || die "$1: $file is wrong"
    done
    [ -z "$(find out -name '.weft-*.tmp')" ] || die "$1: left behind: $(ls -A out)"
}
complete() { # complete WHAT: a last run finds everything done, and no lock is left
    (each --dry-run) > plan || die "$1: $(cat plan)"
    [ "$(cat plan)" = "0 to do, $files up to date" ] || die "$1: $(cat plan)"
    whole "$1"
    [ "$(find out -name '*.mrc' | wc -l)" = $files ] || die "$1: results are missing"
    [ -z "$(find out/.weft-each -name '*.lock')" ] || die "$1: locks are left: $(ls out/.weft-each)"
}
# complete_again WHAT: the same after one more command that has a file to do, since such a command removes the locks of
# processes that have ended. A process that is killed between its note of a file and the removal of its lock leaves the
# lock: the others have seen the note and do not need the lock.
complete_again() {
    rm -f out/m0.mrc
    (each --quiet) 2> log || die "after $1: $(cat log)"
    complete "$1"
}
up_to_date() { (each --dry-run) | sed -nE 's/^[0-9]+ to do, ([0-9]+) up to date$/\1/p'; }
number() { sed -nE "s/^weft each: (.* )?([0-9]+) $1.*/\\2/p" "$2"; } # of a summary
start() { # start LOG: the command, whose process is in $pid; finished waits for all of its processes
    rm -f pipe && mkfifo pipe
    cat pipe > "$1" &
    reader=$!
    (each) > pipe 2>&1 &
    pid=$!
}
finished() {
    status=0
    wait "$pid" 2> /dev/null || status=$?
    wait "$reader"
}
start_three() { # three commands at once on an empty folder, whose processes are in $pids, with log0, log1 and log2
    rm -rf out && mkdir out
    pids=()
    for ((k = 0; k < 3; k++)); do
        (each) 2> "log$k" &
        pids+=($!)
    done
}
pause() { sleep "0.$(printf %03d $((RANDOM % 120 + 20)))"; }

for ((round = 0; round < rounds; round++)); do
    # the command is killed: its workers end, and the next one does what is left
    for ((turn = 0; turn < 3; turn++)); do
        rm -rf out && mkdir out
        start log
        pause
        if kill -9 "$pid" 2> /dev/null; then killed=$((killed + 1)); fi
        finished
        whole 'a killed command'
        known=$(up_to_date)
        there=$(find out -name '*.mrc' | wc -l)
        [ $((there - known)) -le $jobs ] || die "$there results, but the journal knows $known"
        start log
        finished
        [ "$status" = 0 ] || die "after a killed command: $(cat log)"
        [ "$(number skipped log)" = "$known" ] || die "after $known files: $(cat log)"
        complete 'after a killed command'
    done

    # workers are killed: the file in work has failed, the others are done
    rm -rf out && mkdir out
    start log
    for ((turn = 0; turn < 2; turn++)); do
        sleep 0.06
        for worker in $(pgrep -P "$pid" | head -n 1); do
            if kill -9 "$worker" 2> /dev/null; then killed=$((killed + 1)); fi
        done
    done
    finished
    failures=$(grep -c '^  failed: ' log || true)
    [ $((status == (failures > 0))) = 1 ] || die "killed workers: exit code $status: $(cat log)"
    [ $(($(number done, log) + failures)) = $files ] || die "killed workers: $(cat log)"
    whole 'killed workers'
    complete_again 'killed workers'

    # interrupted: as from a terminal, and by the system
    for signal in INT TERM; do
        rm -rf out && mkdir out
        start log
        pause
        kill -$signal "$pid" 2> /dev/null || true
        finished
        case $signal-$status in INT-130 | TERM-143 | INT-0 | TERM-0) ;; *) die "SIG$signal: exit code $status: $(cat log)" ;; esac
        whole "SIG$signal"
        [ -z "$(find out/.weft-each -name '*.lock')" ] || die "SIG$signal: locks are left"
        [ "$(up_to_date)" = "$(find out -name '*.mrc' | wc -l)" ] || die "SIG$signal: results that the journal does not know"
        complete_again "SIG$signal"
    done

    # the next command removes the lock of a process that was killed after its note
    rm -rf out && mkdir out
    (each --quiet) 2> log || die "$(cat log)"
    journal=$(find out/.weft-each -name '*.journal' | head -n 1)
    ln "$journal" out/.weft-each/0123456789abcdef.lock
    complete_again 'a lock that was left'

    # several commands at once: each file is computed once; then one is killed, and the others do its files
    start_three
    sum=0
    for ((k = 0; k < 3; k++)); do
        wait "${pids[k]}" || die "one of several commands: $(cat "log$k")"
        sum=$((sum + $(number done, "log$k")))
    done
    [ $sum = $files ] || die "several commands computed $sum files"
    complete 'several commands'
    start_three
    pause
    if kill -9 "${pids[0]}" 2> /dev/null; then shared=$((shared + 1)); fi
    wait "${pids[0]}" 2> /dev/null || true
    for k in 1 2; do wait "${pids[k]}" || die "beside a killed command: $(cat "log$k")"; done
    complete_again 'beside a killed command'

    # workers are killed while they wait for the file of another command; that command is stopped, then killed
    rm -rf out && mkdir out
    (each --jobs 1) 2> log0 &
    other=$!
    sleep 0.05
    holder=$(pgrep -P $other | head -n 1)
    if [ -n "$holder" ] && kill -STOP "$holder" 2> /dev/null && [ -n "$(find out/.weft-each -name '*.lock')" ]; then
        start log
        for ((k = 0; k < 200; k++)); do
            [ "$(find out -name '*.mrc' | wc -l)" -lt $((files - 1)) ] || break
            sleep 0.05
        done
        sleep 0.1
        for worker in $(pgrep -P "$pid"); do
            if kill -9 "$worker" 2> /dev/null; then killed=$((killed + 1)); fi
        done
        sleep 0.1
        kill -9 $other "$holder"
        finished
        [ "$status" = 0 ] || die "workers killed while they waited: $(cat log)"
        complete_again 'workers killed while they waited'
    else # it was between two files, or had ended
        kill -9 $other $holder 2> /dev/null || true
    fi
    wait $other 2> /dev/null || true

    # one that leaves files to others
    rm -rf out && mkdir out
    start log0
    sleep 0.1
    (each --no-wait) 2> log1 || die "--no-wait: $(cat log1)"
    finished
    [ "$status" = 0 ] || die "beside --no-wait: $(cat log0)"
    complete '--no-wait'
done

# workers that die before they begin a file: the command ends
if command -v cc > cc.path; then
    cat > die.c << 'END'
#include <pthread.h>
#include <signal.h>
static void die(void) { raise(SIGKILL); }
__attribute__((constructor)) static void begin(void) { pthread_atfork(0, 0, die); }
END
    cc -shared -fPIC -o die.so die.c
    mkdir none
    status=0
    ASAN_OPTIONS="${ASAN_OPTIONS-}:verify_asan_link_order=0" timeout 300 env LD_PRELOAD="$PWD/die.so" \
        "$WEFT" each a a='raw/*.mrc' -o none/{name}.mrc --jobs 2 2> log || status=$?
    [ "$status" = 1 ] || die "workers that cannot begin: exit code $status: $(tail -n 3 log)"
    [ "$(grep -c 'a worker was ended by signal 9' log)" -le 4 ] || die "workers that cannot begin: $(cat log)"
    grep -q "^weft each: 0 done, 0 skipped, 0 failed, $files not done" log || die "workers that cannot begin: $(cat log)"
fi

# --- disks, which only root can make: full, and read-only
mkdir disk
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=128k none disk 2> /dev/null; then
    trap 'umount "$work/disk"; rm -rf "$work"' EXIT
    status=0
    "$WEFT" each "$text" a='raw/*.mrc' -o disk/{name}.mrc --jobs 2 2> log || status=$?
    [ "$status" = 1 ] || die "a full disk: exit code $status"
    grep -q 'no space left on device' log || die "a full disk: $(cat log)"
    for file in disk/*.mrc; do cmp "$file" "want/${file#disk/}" || die "a full disk: $file is wrong"; done
    known=$(find disk -name '*.mrc' | wc -l)
    [ "$known" -gt 2 ] && [ "$known" -lt $files ] || die "a full disk: $known results"
    mount -o remount,size=2m none disk
    "$WEFT" each "$text" a='raw/*.mrc' -o disk/{name}.mrc --jobs 2 2> log || die "more room: $(cat log)"
    [ "$(number done, log)" -ge $((files - known)) ] || die "more room: $(cat log)"
    for file in want/*.mrc; do cmp "$file" "disk/${file#want/}" || die "more room: $file is wrong"; done
    mount -o remount,ro none disk
    "$WEFT" each "$text" a='raw/*.mrc' -o disk/{name}.mrc 2> log || die "nothing to do: $(cat log)"
    refuses 1 'may not be written' "$WEFT" each "$text " a='raw/*.mrc' -o disk/{name}.mrc
    refuses 1 'disk/journal: cannot open the folder of the journal: ' \
        "$WEFT" each "$text" a='raw/*.mrc' -o out/{name}.mrc --journal disk/journal
    prints "0 to do, $files up to date" "$WEFT" each "$text" a='raw/*.mrc' -o out/{name}.mrc --dry-run
    umount disk
    trap 'rm -rf "$work"' EXIT
fi
if [ "$(id -u)" != 0 ]; then
    chmod 555 out
    refuses 1 'the folder may not be written' "$WEFT" each "$text " a='raw/*.mrc' -o out/{name}.mrc
    chmod 755 out
fi
echo "$killed processes killed, $shared of several commands"
echo ok
