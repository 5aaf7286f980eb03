# echo: a write for each.
n=0
while [ $n -lt ${1:-20000} ]; do
    echo line $n
    n=$((n + 1))
done
