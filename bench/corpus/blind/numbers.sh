#!/bin/sh
# The input of the filters: so that no other process writes while they do.
seq 200000 > "$1"
