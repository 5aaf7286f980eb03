# writeLine: lines on a terminal, blocks elsewhere.
import os, strutils
for i in 0 ..< parseInt(paramStr(1)): stdout.writeLine("line ", i)
