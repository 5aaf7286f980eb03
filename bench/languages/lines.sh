# A write for each printf; fixed: the text is built, and printed by one.
[ -n "$STREAM" ] && exec 1>&2
text=
for ((i = 0; i < $1; i++)); do
    if [ "$MODE" = fixed ]; then
        text+="line $i"$'\n'
        if [ ${#text} -ge 65536 ]; then printf %s "$text"; text=; fi
    else
        printf 'line '
        printf '%s\n' "$i"
    fi
done
printf %s "$text"
