# Another process writes to the terminal.
gawk -f "$(dirname "$0")/print.awk" "$1" | cat
