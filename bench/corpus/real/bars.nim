# A bar chart, a mark at a time, flushed each; told `large`, collected: the remedy.
import std/[os, strutils]

let large = paramStr(1) == "large"
var
  left = parseInt(paramStr(paramCount()))
  state = 3'u32
  text = ""

proc put(piece: string) =
  if large:
    text.add piece
    if text.len > 65536:
      stdout.write text
      text.setLen 0
  else:
    stdout.write piece
    stdout.flushFile

while left > 0:
  state = state * 1664525'u32 + 1013904223'u32
  let height = int(state shr 27)
  put align($height, 3) & " "
  for _ in 0 ..< height:
    put "="
    dec left
  put "\n"
  dec left
stdout.write text
stdout.flushFile
