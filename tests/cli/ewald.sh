# ctest: long
#
# weft project --defocus --ewald and weft reconstruct --ewald: a blob at a height has another defocus, by its distance from
# the centre; volumes that are as thick as the depth of focus come back better with the right side, and worse with the other.
# The electrons are slow, so that this happens in small boxes.
. "$(dirname "$0")/lib.bash" || exit 1

calc() { "$WEFT" calc "$@"; }
# below LIMIT COMMAND...: the command prints a number that is smaller
below() {
    local limit=$1 got
    shift
    got=$("$@") || die "$* (exit code $?)"
    awk -v a="$got" -v b="$limit" 'BEGIN { exit !(a < b) }' || die "$*: printed '$got', not below $limit"
}
optics='--voltage 5 --cs 0'

# --- without --ewald: the projection times the CTF
blob='exp(-((z - 12)**2 + (y - 20)**2 + (x - 16)**2)/8.0)'
calc "$blob" --shape 32,32,32 --pixel 1 -o blob.mrc
"$WEFT" project blob.mrc --rotate 30,45,60 --defocus 0.03,0.005,30 $optics -o image.mrc
"$WEFT" transform blob.mrc --shape 64,64,64 -o large.mrc
"$WEFT" project large.mrc --rotate 30,45,60 --interpolation bspline -o view.mrc
"$WEFT" ctf view.mrc --defocus 0.03,0.005,30 $optics --multiply -o wide.mrc
"$WEFT" transform wide.mrc --shape 32,32 -o narrow.mrc
below 1e-3 calc 'max(abs(a - b))' a=image.mrc b=narrow.mrc # of 2

# --- a blob 8 A above the centre: 0.0008 micrometres more underfocus, or less
calc 'exp(-((z - 24)**2 + (y - 18)**2 + (x - 14)**2)/4.0)' --shape 32,32,32 --pixel 1 -o high.mrc
calc 'exp(-((y - 34)**2 + (x - 30)**2)/4.0)*sqrt(4*pi)' --shape 64,64 --pixel 1 -o flat.mrc
for side in 1 -1; do
    "$WEFT" project high.mrc --rotate 0,0,0 --defocus 0.03 $optics --ewald $side -o image.mrc
    "$WEFT" ctf flat.mrc --defocus "$(awk -v s=$side 'BEGIN { print 0.03 + 0.0008 * s }')" $optics --multiply -o wide.mrc
    "$WEFT" transform wide.mrc --shape 32,32 -o narrow.mrc
    below 3e-3 calc 'max(abs(a - b))' a=image.mrc b=narrow.mrc # of 0.8; with the other sign 0.06
done

# --- there and back
calc 'exp(-((z - 6)**2 + (y - 12)**2 + (x - 14)**2)/2.0) + exp(-((z - 17)**2 + (y - 16)**2 + (x - 6)**2)/2.0)' \
    --shape 24,24,24 --pixel 1 -o points.mrc
optics='--voltage 2 --cs 0'
star() { # star OPTICS_COLUMNS OPTICS MORE_FIELDS
    printf 'data_optics\nloop_\n_rlnOpticsGroup\n'
    printf '_%s\n' rlnImagePixelSize rlnSphericalAberration rlnAmplitudeContrast $1
    printf '1 1 0 0.1 %s\n\ndata_particles\nloop_\n_rlnOpticsGroup\n' "$2"
    printf '_%s\n' rlnImageName rlnAngleRot rlnAngleTilt rlnAnglePsi rlnDefocusU rlnDefocusV rlnDefocusAngle ${3-}
    cat rows
}
: > rows
for d in 0.012 0.0133 0.0147 0.0165; do
    "$WEFT" project points.mrc --count 100 --defocus $d $optics --ewald 1 -o views$d.mrcs > angles
    awk -v d=$d '{ print 1, $1 + 1 "@views" d ".mrcs", -$4, -$3, -$2, d * 1e4, d * 1e4, 0 }' angles >> rows
done
star rlnVoltage 2 > views.star
"$WEFT" reconstruct views.star -o planes.mrc
"$WEFT" reconstruct views.star --ewald 1 -o right.mrc
"$WEFT" reconstruct views.star --ewald 1 --diameter 16 -o right20.mrc
"$WEFT" reconstruct views.star --ewald -1 -o wrong.mrc
# high NAME: the Fourier shell correlation with the points, summed over shells 9 to 11 of 12
high() { "$WEFT" fsc "$1.mrc" points.mrc | awk '$1 >= 9 && $1 <= 11 { sum += $3; n++ } END { print n == 3 ? sum : -99 }'; }
for name in right right20; do
    awk -v a="$(high planes)" -v b="$(high $name)" 'BEGIN { exit !(b > a + 0.15) }' || die "$name: $(high planes), $(high $name)"
done
awk -v a="$(high wrong)" -v b="$(high planes)" 'BEGIN { exit !(b > a + 0.5) }' || die "wrong: $(high planes), $(high wrong)"

# --- what is refused
refuses 2 'give 1 or -1' "$WEFT" reconstruct views.star --ewald 2 -o out.mrc
refuses 2 'not both' "$WEFT" reconstruct views.star --ewald 1 --no-ctf -o out.mrc
refuses 2 'diameter is for --ewald' "$WEFT" reconstruct views.star --diameter 20 -o out.mrc
refuses 2 'give Angstrom above 0' "$WEFT" reconstruct views.star --ewald 1 --diameter 0 -o out.mrc
refuses 2 'CTFs are unknown' "$WEFT" reconstruct views0.012.mrcs --angles angles --ewald 1 -o out.mrc
star 'rlnVoltage rlnCtfDataAreCtfPremultiplied' '2 1' > bad.star
refuses 1 'bad.star: --ewald: the images are multiplied' "$WEFT" reconstruct bad.star --ewald 1 -o out.mrc
awk '{ print $0, (NR > 150 ? 2 : 3) }' rows > more && mv more rows
star '' '' rlnVoltage > bad.star
refuses 1 'particles of two voltages, 3 and 2 kV' "$WEFT" reconstruct bad.star --ewald 1 -o out.mrc
refuses 2 'ewald is for --defocus' "$WEFT" project points.mrc --count 3 --ewald 1 -o out.mrc
refuses 2 'give 1 or -1' "$WEFT" project points.mrc --count 3 --defocus 1 --ewald x -o out.mrc
refuses 2 'give micrometres' "$WEFT" project points.mrc --count 3 --defocus 1,2 -o out.mrc
refuses 2 'give a number from 1 to 3000' "$WEFT" project points.mrc --count 3 --defocus 1 --voltage 0 -o out.mrc
refuses 2 'projections without --defocus' "$WEFT" project points.mrc --count 3 --defocus 1 --interpolation linear -o out.mrc
calc 1.0 --shape 4,4,4 -o bare.npy
refuses 2 'pixel size of bare.npy is unknown' "$WEFT" project bare.npy --count 3 --defocus 1 -o out.mrc
calc 1.0 --shape 4,4,4 --pixel 2,1,1 -o long.mrc
refuses 1 'needs one size along all axes' "$WEFT" project long.mrc --count 3 --defocus 1 -o out.mrc
[ ! -e out.mrc ] || die 'a refused command wrote a file'
# an MRC file has 1.07 A as 8.56, 10.7 and 12.84 in f32, whose quotients by the extents are not one number
calc 1.0 --shape 8,10,12 --pixel 1.07 -o uneven.mrc
"$WEFT" project uneven.mrc --rotate 0,0,0 --defocus 1 -o out.mrc || die 'pixels of a volume with three extents'
