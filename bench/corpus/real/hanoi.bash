# The towers of Hanoi, a printf for each part of a move; told `large`, the text is collected and printed at times: the remedy.
how=$1 left=${!#} text='' moves=0
say() {
    if [[ $how = large ]]; then
        text+=$1
    else
        printf %s "$1"
    fi
}
move() {
    ((left > 0)) || return 0
    if (($1 > 1)); then move $(($1 - 1)) "$2" "$4" "$3"; fi
    ((left > 0)) || return 0
    ((left -= 4))
    say "disk $1 "
    say "from $2 "
    say "to $3"
    say $'\n'
    if ((++moves % 1000 == 0)) && [[ $how = large ]]; then
        printf %s "$text"
        text=''
    fi
    if (($1 > 1)); then move $(($1 - 1)) "$4" "$3" "$2"; fi
}
move 20 a c b
if [[ $text ]]; then printf %s "$text"; fi
