#!/bin/sh
# Collects what a package installs: packaging/assets.sh PROGRAM DIRECTORY
# writes DIRECTORY/bin, DIRECTORY/share/man/man1 and completions of bash, zsh and fish, from the program itself.
set -eu
program=$1
to=$2
man=$to/share/man/man1
bash=$to/share/bash-completion/completions
zsh=$to/share/zsh/site-functions
fish=$to/share/fish/vendor_completions.d
mkdir -p "$to/bin" "$man" "$bash" "$zsh" "$fish"
install -m 755 "$program" "$to/bin/outpace"
"$program" man >"$man/outpace.1"
for command in bench report rung fps run trace contest completions man; do
    "$program" man "$command" >"$man/outpace-$command.1"
done
"$program" completions bash >"$bash/outpace"
"$program" completions zsh >"$zsh/_outpace"
"$program" completions fish >"$fish/outpace.fish"
