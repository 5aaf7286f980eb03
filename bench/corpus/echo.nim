# echo: flushes after each line.
import os, strutils
for i in 0 ..< parseInt(paramStr(1)): echo "line ", i
