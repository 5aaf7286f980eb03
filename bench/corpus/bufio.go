// A bufio.Writer: blocks, wherever they go. The remedy.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
)

func main() {
	lines := 20000
	if len(os.Args) > 1 {
		lines, _ = strconv.Atoi(os.Args[1])
	}
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	defer out.Flush()
	for n := 0; n < lines; n++ {
		fmt.Fprintln(out, "line", n)
	}
}
