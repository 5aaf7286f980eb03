# writeLine, and a flush after each line.
import os, strutils
for i in 0 ..< parseInt(paramStr(1)):
  stdout.writeLine("line ", i)
  stdout.flushFile
