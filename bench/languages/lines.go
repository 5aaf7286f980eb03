// No buffer; fixed: bufio.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
)

func main() {
	file := os.Stdout
	if os.Getenv("STREAM") != "" {
		file = os.Stderr
	}
	var out io.Writer = file
	if os.Getenv("MODE") == "fixed" {
		buffered := bufio.NewWriterSize(file, 1<<16)
		defer buffered.Flush()
		out = buffered
	}
	lines, _ := strconv.Atoi(os.Args[1])
	for i := 0; i < lines; i++ {
		fmt.Fprint(out, "line ")
		fmt.Fprintln(out, i)
	}
}
