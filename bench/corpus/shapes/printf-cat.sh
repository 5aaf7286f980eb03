# Another process writes to the terminal.
gawk -f "$(dirname "$0")/printf_plain.awk" "$1" | cat
