# weft align: the drifts of movies with faults at the same place in each frame, which have no part in the comparison, and
# of counts of few electrons, of which none is such a fault.
. "$(dirname "$0")/lib.bash" || exit 1

calc() { "$WEFT" calc "$@"; }
# drifts_by LIMIT MOVIE: each frame was moved by -1, 2 pixels from the one before
drifts_by() {
    "$WEFT" align "$2" -o sum.mrc > shifts.txt
    awk -v most="$1" '{ a = $2 + $1; b = $3 - 2*$1; if (a*a + b*b > most*most) bad = 1 }
        END { exit bad || NR != 3 }' shifts.txt || die "$2: $(cat shifts.txt)"
}

"$WEFT" sample -o micrograph.mrc --size 112 --pixel 3
calc 'a[y + z, x - 2*z]' a=micrograph.mrc --shape 3,112,112 --stack -o border.mrcs
drifts_by 0.02 border.mrcs
calc 'a[y + z, x - 2*z; mirror]' a=micrograph.mrc --shape 3,112,112 --stack -o clean.mrcs
drifts_by 0.02 clean.mrcs
calc 'y < 9 || x >= nx - 2 ? 0 : a' a=clean.mrcs -o dark.mrcs
drifts_by 0.05 dark.mrcs
calc 'x == 50 ? 0 : y == 70 ? 700 : a' a=clean.mrcs -o lines.mrcs
drifts_by 0.02 lines.mrcs
calc 'y == 60 && x % 40 == 20 ? 60000 : y == 9 && x == 8 ? nan : a' a=clean.mrcs -o hot.mrcs
drifts_by 0.02 hot.mrcs
# the frames that are added keep their values
calc 'x == 50 ? 0 : a' a=clean.mrcs -o column.mrcs
"$WEFT" align column.mrcs --no-align -o still.mrc > still.txt
near 0 calc 'max(abs(s - sum(a; 0)))/1000' s=still.mrc a=column.mrcs

# one pixel in fifty has a count, which is seven standard deviations from the mean: it is what there is to compare
"$WEFT" filter clean.mrcs --lowpass 25 --normalize -o soft.mrcs
calc 'a > 2.05 ? 1. : 0' a=soft.mrcs -o counts.mrcs
drifts_by 0.25 counts.mrcs
calc 'a - 0.02' a=counts.mrcs -o shifted.mrcs
drifts_by 0.25 shifted.mrcs
calc 'y == 60 && x % 20 == 0 ? 400 : a' a=counts.mrcs -o both.mrcs
drifts_by 0.25 both.mrcs
# all but one value is the same: there is nothing else to compare
calc 'x - 2*z == 50 && y + z == 60 ? 1. : 0' --shape 3,112,112 --stack -o point.mrcs
"$WEFT" align point.mrcs -o sum.mrc > shifts.txt
awk '{ a = $2 + $1; b = $3 - 2*$1; if (a*a + b*b > 0.01) exit 1 }' shifts.txt || die "point.mrcs: $(cat shifts.txt)"
