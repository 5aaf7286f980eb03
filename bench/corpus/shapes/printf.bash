# printf, the built-in: a write for each; told `large`, the text is built: the remedy.
lines=${!#}
text=
for ((n = 0; n < lines; n++)); do
    if [[ $1 != large ]]; then
        printf '%d %s\n' $n $((n * n % 977))
        continue
    fi
    printf -v line '%d %s\n' $n $((n * n % 977))
    text+=$line
    if ((n % 4096 == 4095)); then
        printf %s "$text"
        text=
    fi
done
printf %s "$text"
