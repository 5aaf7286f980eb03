# A write for each printf; fixed: the text is built, and printed by one. Lines are counted: the length of a text takes bash as
# long as the text.
[ -n "$STREAM" ] && exec 1>&2
text=
for ((i = 0; i < $1; i++)); do
    if [ "$MODE" = fixed ]; then
        text+="line $i"$'\n'
        if ((i % 4096 == 4095)); then printf %s "$text"; text=; fi
    else
        printf 'line '
        printf '%s\n' "$i"
    fi
done
printf %s "$text"
