# The tool on files in gzip: what gunzip makes of a result is the plain file, and results are the same.
. "$(dirname "$0")/lib.bash" || exit 1

"$WEFT" sample -o a.mrcs --stack 3 --box 40
"$WEFT" calc 'out = a*2 + 1' a=a.mrcs -o b.mrcs
"$WEFT" calc 'out = a*2 + 1' a=a.mrcs -o b.mrcs.gz
gunzip -c b.mrcs.gz > unpacked.mrcs || die 'gunzip refuses the file'
cmp b.mrcs unpacked.mrcs || die 'the file differs from the plain one'
gzip -c a.mrcs > c.mrcs.gz
"$WEFT" calc 'out = a*2 + 1' a=c.mrcs.gz -o d.mrcs
cmp b.mrcs d.mrcs || die 'the input in gzip gives another result'
[ "$("$WEFT" info c.mrcs.gz | sed 's/^c.mrcs.gz//')" = "$("$WEFT" info a.mrcs | sed 's/^a.mrcs//')" ] || die 'info differs'
refuses 2 'the suffix .mrcs.gz is that of a stack' "$WEFT" calc a a=a.mrcs --volume -o v.mrcs.gz
