# Days and their weekdays, print -n for each day and a newline for each week; told `large`, collected: the remedy.
how=$1
integer lines=${@[-1]} n
text=''
for ((n = 0; n < lines; n++)); do
    piece="${(l:4:)$((n % 31 + 1))}"
    ((n % 7 == 6)) && piece+=$'\n'
    if [[ $how = large ]]; then
        text+=$piece
        if ((n % 5000 == 4999)); then
            print -rn -- $text
            text=''
        fi
    else
        print -rn -- $piece
    fi
done
[[ -n $text ]] && print -rn -- $text
true
