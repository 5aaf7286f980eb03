# A shell whose own buffer is only written at times: ksh93 and its print; told `large`, the lines are collected before.
how=$1 lines=$2 text=''
integer n sum=0
for ((n = 0; n < lines; n++)); do
    ((sum += n % 17))
    if [[ $how = large ]]; then
        text+="entry $n sum $sum"$'\n'
        if ((n % 1000 == 999)); then
            print -rn -- "$text"
            text=''
        fi
    else
        print -r -- "entry $n sum $sum"
    fi
done
print -rn -- "$text"
