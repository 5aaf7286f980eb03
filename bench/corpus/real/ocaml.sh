#!/bin/sh
# ocaml.sh SOURCE RESULT: ocamlopt leaves its files beside the source, which therefore is copied.
mkdir -p "$2.parts" && cp "$1" "$2.parts/" && ocamlopt -o "$2" "$2.parts/$(basename "$1")"
