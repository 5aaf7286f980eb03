# One process gathers what many commands write: the remedy.
{
    n=0
    while [ $n -lt ${1:-20000} ]; do
        echo line $n
        n=$((n + 1))
    done
} | cat
