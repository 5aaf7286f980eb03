## A string for many lines: the remedy on a terminal.
import std/[os, strutils]

var text = newStringOfCap(1 shl 16)
for n in 0 ..< (if paramCount() > 0: parseInt(paramStr(1)) else: 20000):
  text.add("line " & $n & "\n")
  if text.len > 1 shl 16:
    stdout.write(text)
    text.setLen(0)
stdout.write(text)
