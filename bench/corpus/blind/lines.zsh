# print for each line; told large, of a thousand lines at once: the remedy.
integer n lines=$2/2
text=
for ((n = 1; n <= lines; n++)); do
  if [[ $1 = large ]]; then
    text+="$n $((n % 17))"$'\n'
    if ((n % 1000 == 0)); then
      print -rn -- "$text"
      text=
    fi
  else
    print "$n $((n % 17))"
  fi
done
print -rn -- "$text"
